// Builds, copies and inspects graphs, and manages user objects. To build a graph by hand, nodes for
// kernels, host calls, child graphs and empty nodes are modelled. If a call ends a user object, the
// program's destructor runs without the lock.

#include "driver/graph_handles.h"

using simgpu::Graph;
using simgpu::GraphNode;
using simgpu::HostCall;
using simgpu::make_calls;
using simgpu::to_graph;
using simgpu::to_handle;
using simgpu::to_node;
using simgpu::to_nodes;
using simgpu::UserObject;
using simgpu::World;

namespace {

// As usual, without an array only the count is returned.
CUresult give_nodes(const std::vector<GraphNode*>& nodes, CUgraphNode* handles, size_t* count) {
    SIMGPU_REQUIRE(count != nullptr);
    if (handles != nullptr) {
        for (size_t index = 0; index < *count; ++index) {
            handles[index] = index < nodes.size() ? to_handle(nodes[index]) : nullptr;
        }
    }
    *count = nodes.size();
    return CUDA_SUCCESS;
}

// Adds a node to a graph that the program builds itself. Null for bad arguments.
GraphNode* add_node(CUgraph graph,
                    const CUgraphNode* dependencies,
                    size_t count,
                    CUgraphNodeType type) {
    if (graph == nullptr || (dependencies == nullptr && count != 0)) {
        return nullptr;
    }
    return to_graph(graph)->add_node(type, to_nodes(dependencies, count));
}

CUresult give_node(GraphNode* node, CUgraphNode* handle) {
    SIMGPU_REQUIRE(node != nullptr && handle != nullptr);
    *handle = to_handle(node);
    return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_API CUresult cuGraphCreate(CUgraph* graph, unsigned) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(graph != nullptr);
    auto* const made = new Graph;
    made->id = World::instance().next_id();
    *graph = to_handle(made);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphDestroy(CUgraph graph) {
    SIMGPU_REQUIRE(graph != nullptr);
    std::vector<HostCall> destroy_calls;
    {
        const auto lock = World::instance().lock();
        simgpu::release_user_objects(&to_graph(graph)->user_objects, &destroy_calls);
        delete to_graph(graph);
    }
    make_calls(destroy_calls);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphClone(CUgraph* copy, CUgraph graph) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(copy != nullptr && graph != nullptr);
    *copy = to_handle(simgpu::clone_graph(*to_graph(graph)).release());
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* handles, size_t* count) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(graph != nullptr);
    std::vector<GraphNode*> nodes;
    for (const auto& node : to_graph(graph)->nodes) {
        nodes.push_back(node.get());
    }
    return give_nodes(nodes, handles, count);
}

SIMGPU_API CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* handles, size_t* count) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(graph != nullptr);
    std::vector<GraphNode*> roots;
    for (const auto& node : to_graph(graph)->nodes) {
        if (node->dependencies.empty()) {
            roots.push_back(node.get());
        }
    }
    return give_nodes(roots, handles, count);
}

SIMGPU_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(node != nullptr && type != nullptr);
    *type = to_node(node)->type;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphNodeGetDependencies(CUgraphNode node,
                                               CUgraphNode* handles,
                                               size_t* count) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(node != nullptr);
    return give_nodes(to_node(node)->dependencies, handles, count);
}

SIMGPU_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node,
                                                  CUgraphNode* handles,
                                                  CUgraphEdgeData* edges,
                                                  size_t* count) {
    if (edges != nullptr && count != nullptr) {
        std::fill_n(edges, *count, CUgraphEdgeData{});
    }
    return cuGraphNodeGetDependencies(node, handles, count);
}

SIMGPU_API CUresult cuGraphAddDependencies_v2(CUgraph graph,
                                              const CUgraphNode* from,
                                              const CUgraphNode* to,
                                              const CUgraphEdgeData*,
                                              size_t count) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(graph != nullptr && (count == 0 || (from != nullptr && to != nullptr)));
    for (size_t index = 0; index < count; ++index) {
        to_node(to[index])->dependencies.push_back(to_node(from[index]));
    }
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphAddEmptyNode(CUgraphNode* node,
                                        CUgraph graph,
                                        const CUgraphNode* dependencies,
                                        size_t count) {
    const auto lock = World::instance().lock();
    return give_node(add_node(graph, dependencies, count, CU_GRAPH_NODE_TYPE_EMPTY), node);
}

SIMGPU_API CUresult cuGraphAddKernelNode_v2(CUgraphNode* node,
                                            CUgraph graph,
                                            const CUgraphNode* dependencies,
                                            size_t count,
                                            const CUDA_KERNEL_NODE_PARAMS* parameters) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(parameters != nullptr && parameters->func != nullptr);
    GraphNode* const added = add_node(graph, dependencies, count, CU_GRAPH_NODE_TYPE_KERNEL);
    if (added != nullptr) {
        added->kernel = *parameters;
    }
    return give_node(added, node);
}

SIMGPU_API CUresult cuGraphAddHostNode(CUgraphNode* node,
                                       CUgraph graph,
                                       const CUgraphNode* dependencies,
                                       size_t count,
                                       const CUDA_HOST_NODE_PARAMS* parameters) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(parameters != nullptr && parameters->fn != nullptr);
    GraphNode* const added = add_node(graph, dependencies, count, CU_GRAPH_NODE_TYPE_HOST);
    if (added != nullptr) {
        added->host_function = parameters->fn;
        added->host_argument = parameters->userData;
    }
    return give_node(added, node);
}

SIMGPU_API CUresult cuGraphAddChildGraphNode(CUgraphNode* node,
                                             CUgraph graph,
                                             const CUgraphNode* dependencies,
                                             size_t count,
                                             CUgraph child) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(child != nullptr);
    GraphNode* const added = add_node(graph, dependencies, count, CU_GRAPH_NODE_TYPE_GRAPH);
    if (added != nullptr) {
        added->child = simgpu::clone_graph(*to_graph(child));
    }
    return give_node(added, node);
}

SIMGPU_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                  CUDA_KERNEL_NODE_PARAMS* parameters) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(node != nullptr && parameters != nullptr &&
                   to_node(node)->type == CU_GRAPH_NODE_TYPE_KERNEL);
    *parameters = to_node(node)->kernel;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuUserObjectCreate(
    CUuserObject* object, void* pointer, CUhostFn destroy, unsigned reference_count, unsigned) {
    SIMGPU_REQUIRE(object != nullptr && destroy != nullptr && reference_count > 0);
    *object = reinterpret_cast<CUuserObject>(new UserObject{pointer, destroy, reference_count});
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(object != nullptr);
    reinterpret_cast<UserObject*>(object)->reference_count += count;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
    SIMGPU_REQUIRE(object != nullptr);
    std::vector<HostCall> destroy_calls;
    {
        const auto lock = World::instance().lock();
        std::vector<UserObject*> released(count, reinterpret_cast<UserObject*>(object));
        simgpu::release_user_objects(&released, &destroy_calls);
    }
    make_calls(destroy_calls);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphRetainUserObject(CUgraph graph,
                                            CUuserObject object,
                                            unsigned count,
                                            unsigned flags) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(graph != nullptr && object != nullptr);
    auto* const held = reinterpret_cast<UserObject*>(object);
    if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) {
        held->reference_count += count;
    }
    to_graph(graph)->user_objects.insert(to_graph(graph)->user_objects.end(), count, held);
    return CUDA_SUCCESS;
}
