// Stream capture and the graph calls. Graphs that are captured, cloned, instantiated and launched
// are modelled; of the calls that build a graph by hand, those for kernel, host, child and empty
// nodes. Calls that may end a user object make the program's destructor run without the lock.

#include <algorithm>

#include "driver/driver_state.h"
#include "model/contents.h"

using simgpu::ExecutableGraph;
using simgpu::Graph;
using simgpu::GraphNode;
using simgpu::HostCall;
using simgpu::Stream;
using simgpu::Streams;
using simgpu::UserObject;
using simgpu::World;

namespace {

Graph* to_graph(CUgraph handle) {
    return reinterpret_cast<Graph*>(handle);
}
CUgraph to_handle(Graph* graph) {
    return reinterpret_cast<CUgraph>(graph);
}
GraphNode* to_node(CUgraphNode handle) {
    return reinterpret_cast<GraphNode*>(handle);
}
CUgraphNode to_handle(GraphNode* node) {
    return reinterpret_cast<CUgraphNode>(node);
}
ExecutableGraph* to_executable(CUgraphExec handle) {
    return reinterpret_cast<ExecutableGraph*>(handle);
}

void run(const std::vector<HostCall>& calls) {
    for (const HostCall& call : calls) {
        call.function(call.argument);
    }
}

std::vector<GraphNode*> to_nodes(const CUgraphNode* handles, size_t count) {
    std::vector<GraphNode*> nodes;
    for (size_t index = 0; index < count; ++index) {
        nodes.push_back(to_node(handles[index]));
    }
    return nodes;
}

// The usual protocol: with no array, only the count is told.
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

struct CaptureInfo {
    CUstreamCaptureStatus* status = nullptr;
    cuuint64_t* id = nullptr;
    CUgraph* graph = nullptr;
    const CUgraphNode** dependencies = nullptr;
    size_t* dependency_count = nullptr;
};

CUresult tell_capture(CUstream handle, const CaptureInfo& info) {
    SIMGPU_SESSION(session)
    const Stream* const stream = session.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    SIMGPU_REQUIRE(info.status != nullptr);
    *info.status = Streams::instance().capture_status(stream);
    const bool is_active = *info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (info.id != nullptr) {
        *info.id = is_active ? stream->capture->id : 0;
    }
    if (info.graph != nullptr) {
        *info.graph = is_active ? to_handle(stream->capture->graph) : nullptr;
    }
    if (info.dependencies != nullptr) {
        *info.dependencies =
            is_active ? reinterpret_cast<const CUgraphNode*>(stream->frontier.data()) : nullptr;
    }
    if (info.dependency_count != nullptr) {
        *info.dependency_count = is_active ? stream->frontier.size() : 0;
    }
    return CUDA_SUCCESS;
}

CUresult update_dependencies(CUstream handle, CUgraphNode* nodes, size_t count, unsigned flags) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->capture == nullptr) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        stream->frontier.clear();
    }
    for (GraphNode* node : to_nodes(nodes, count)) {
        if (std::find(stream->frontier.begin(), stream->frontier.end(), node) ==
            stream->frontier.end()) {
            stream->frontier.push_back(node);
        }
    }
    return CUDA_SUCCESS;
}

// A new node in a graph that the program builds itself; null for bad arguments.
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

CUresult instantiate(CUgraphExec* executable, CUgraph graph) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(executable != nullptr && graph != nullptr);
    auto* const made = new ExecutableGraph;
    simgpu::fill_executable(*to_graph(graph), made);
    *executable = reinterpret_cast<CUgraphExec>(made);
    return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_API CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
    return cuStreamBeginCaptureToGraph(handle, nullptr, nullptr, nullptr, 0, mode);
}

SIMGPU_API CUresult cuStreamBeginCaptureToGraph(CUstream handle,
                                                CUgraph graph,
                                                const CUgraphNode* dependencies,
                                                const CUgraphEdgeData*,
                                                size_t count,
                                                CUstreamCaptureMode mode) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return Streams::instance().begin_capture(
        stream, mode, to_graph(graph), to_nodes(dependencies, count));
}

SIMGPU_API CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    Graph* captured = nullptr;
    const CUresult result = Streams::instance().end_capture(stream, &captured);
    if (graph != nullptr) {
        *graph = to_handle(captured);
    }
    return result;
}

SIMGPU_API CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    return tell_capture(handle, {.status = status});
}

SIMGPU_API CUresult cuStreamGetCaptureInfo_v2(CUstream handle,
                                              CUstreamCaptureStatus* status,
                                              cuuint64_t* id,
                                              CUgraph* graph,
                                              const CUgraphNode** dependencies,
                                              size_t* count) {
    return tell_capture(handle, {status, id, graph, dependencies, count});
}

SIMGPU_API CUresult cuStreamGetCaptureInfo_v3(CUstream handle,
                                              CUstreamCaptureStatus* status,
                                              cuuint64_t* id,
                                              CUgraph* graph,
                                              const CUgraphNode** dependencies,
                                              const CUgraphEdgeData** edges,
                                              size_t* count) {
    if (edges != nullptr) {
        *edges = nullptr;
    }
    return tell_capture(handle, {status, id, graph, dependencies, count});
}

SIMGPU_API CUresult cuStreamUpdateCaptureDependencies(CUstream handle,
                                                      CUgraphNode* nodes,
                                                      size_t count,
                                                      unsigned flags) {
    return update_dependencies(handle, nodes, count, flags);
}

SIMGPU_API CUresult cuStreamUpdateCaptureDependencies_v2(
    CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData*, size_t count, unsigned flags) {
    return update_dependencies(handle, nodes, count, flags);
}

SIMGPU_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    SIMGPU_REQUIRE(mode != nullptr);
    std::swap(*mode, simgpu::thread_capture_mode());
    return CUDA_SUCCESS;
}

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
    run(destroy_calls);
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

SIMGPU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable,
                                                CUgraph graph,
                                                unsigned long long) {
    return instantiate(executable, graph);
}

SIMGPU_API CUresult cuGraphInstantiateWithParams(CUgraphExec* executable,
                                                 CUgraph graph,
                                                 CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    SIMGPU_REQUIRE(parameters != nullptr);
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    parameters->hErrNode_out = nullptr;
    return instantiate(executable, graph);
}

SIMGPU_API CUresult cuGraphUpload(CUgraphExec executable, CUstream) {
    SIMGPU_REQUIRE(executable != nullptr);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    std::vector<HostCall> host_calls;
    {
        SIMGPU_SESSION(session)
        SIMGPU_REQUIRE(executable != nullptr);
        GraphNode* node = nullptr;
        const CUresult result =
            simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_GRAPH, &node);
        if (result != CUDA_SUCCESS || node != nullptr) {
            return result;
        }
        simgpu::Contents::instance().forget_all();
        host_calls = to_executable(executable)->host_calls;
    }
    run(host_calls);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphExecDestroy(CUgraphExec executable) {
    SIMGPU_REQUIRE(executable != nullptr);
    std::vector<HostCall> destroy_calls;
    {
        const auto lock = World::instance().lock();
        simgpu::release_user_objects(&to_executable(executable)->user_objects, &destroy_calls);
        delete to_executable(executable);
    }
    run(destroy_calls);
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
    run(destroy_calls);
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
