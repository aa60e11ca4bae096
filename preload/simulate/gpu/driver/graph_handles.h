// Shared code of the graph calls. Handles are pointers to the model's objects. Calls back into the
// program are made after the world's lock is released.
#pragma once

#include <vector>

#include "driver/driver_state.h"

namespace simgpu {

inline Graph* to_graph(CUgraph handle) {
    return reinterpret_cast<Graph*>(handle);
}
inline CUgraph to_handle(Graph* graph) {
    return reinterpret_cast<CUgraph>(graph);
}
inline GraphNode* to_node(CUgraphNode handle) {
    return reinterpret_cast<GraphNode*>(handle);
}
inline CUgraphNode to_handle(GraphNode* node) {
    return reinterpret_cast<CUgraphNode>(node);
}
inline ExecutableGraph* to_executable(CUgraphExec handle) {
    return reinterpret_cast<ExecutableGraph*>(handle);
}

inline std::vector<GraphNode*> to_nodes(const CUgraphNode* handles, size_t count) {
    std::vector<GraphNode*> nodes;
    for (size_t index = 0; index < count; ++index) {
        nodes.push_back(to_node(handles[index]));
    }
    return nodes;
}

inline void make_calls(const std::vector<HostCall>& calls) {
    for (const HostCall& call : calls) {
        call.function(call.argument);
    }
}

}  // namespace simgpu
