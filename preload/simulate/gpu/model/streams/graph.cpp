// Building, cloning and instantiating graphs.

#include "model/streams/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace simgpu {

GraphNode* Graph::add_node(CUgraphNodeType type, std::vector<GraphNode*> dependencies) {
    auto node = std::make_unique<GraphNode>();
    node->type = type;
    node->graph = this;
    node->dependencies = std::move(dependencies);
    nodes.push_back(std::move(node));
    return nodes.back().get();
}

bool Graph::owns(const GraphNode* node) const {
    return std::any_of(nodes.begin(), nodes.end(), [node](const auto& candidate) {
        return candidate.get() == node;
    });
}

std::unique_ptr<Graph> clone_graph(const Graph& graph) {
    auto copy = std::make_unique<Graph>();
    copy->id = graph.id;
    std::unordered_map<const GraphNode*, GraphNode*> copies;
    for (const auto& node : graph.nodes) {
        GraphNode* const made = copy->add_node(node->type, {});
        made->host_function = node->host_function;
        made->host_argument = node->host_argument;
        made->kernel = node->kernel;
        made->memory = node->memory;
        if (node->child != nullptr) {
            made->child = clone_graph(*node->child);
        }
        copies[node.get()] = made;
    }
    for (const auto& node : graph.nodes) {
        for (const GraphNode* dependency : node->dependencies) {
            copies[node.get()]->dependencies.push_back(copies[dependency]);
        }
    }
    copy->user_objects = graph.user_objects;
    for (UserObject* object : copy->user_objects) {
        ++object->reference_count;
    }
    return copy;
}

void fill_executable(const Graph& graph, ExecutableGraph* executable) {
    executable->node_count += graph.nodes.size();
    for (const auto& node : graph.nodes) {
        if (node->host_function != nullptr) {
            executable->host_calls.push_back({node->host_function, node->host_argument});
        }
        if (node->memory != 0) {
            const bool is_free = node->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
            executable->memory_nodes.push_back({node->memory, is_free});
        }
        if (node->child != nullptr && node->type == CU_GRAPH_NODE_TYPE_GRAPH) {
            fill_executable(*node->child, executable);
        }
    }
    for (UserObject* object : graph.user_objects) {
        ++object->reference_count;
        executable->user_objects.push_back(object);
    }
}

bool leads_to(const GraphNode* from, const GraphNode* to) {
    std::unordered_set<const GraphNode*> seen;
    std::vector<const GraphNode*> open{to};
    while (!open.empty()) {
        const GraphNode* const node = open.back();
        open.pop_back();
        if (node == from) {
            return true;
        }
        if (seen.insert(node).second) {
            open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
        }
    }
    return false;
}

void release_user_objects(std::vector<UserObject*>* objects, std::vector<HostCall>* destroy_calls) {
    for (UserObject* object : *objects) {
        if (--object->reference_count == 0) {
            destroy_calls->push_back({object->destroy, object->object});
            delete object;
        }
    }
    objects->clear();
}

}  // namespace simgpu
