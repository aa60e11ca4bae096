// CUDA graphs: nodes, their order, and the host side of a launch of an instantiated graph. Nodes do
// no work on the device; they exist so that a program finds its nodes again. Not thread-safe: the
// world's lock guards every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <cuda.h>

namespace simgpu {

struct Graph;

struct GraphNode {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
    Graph* graph = nullptr;
    std::vector<GraphNode*> dependencies;
    CUhostFn host_function = nullptr;  // host nodes
    void* host_argument = nullptr;
    CUDA_KERNEL_NODE_PARAMS kernel{};  // kernel nodes
    std::unique_ptr<Graph> child;      // child and conditional nodes
    uintptr_t memory = 0;              // allocation and free nodes: the address
};

// Shared by graphs and executables; its destructor runs when the last reference goes.
struct UserObject {
    void* object = nullptr;
    CUhostFn destroy = nullptr;
    unsigned reference_count = 0;
};

struct HostCall {
    CUhostFn function = nullptr;
    void* argument = nullptr;
};

struct Graph {
    uint64_t id = 0;
    std::vector<std::unique_ptr<GraphNode>> nodes;
    std::vector<UserObject*> user_objects;

    GraphNode* add_node(CUgraphNodeType type, std::vector<GraphNode*> dependencies);
    bool owns(const GraphNode* node) const;
};

struct MemoryNode {
    uintptr_t address = 0;
    bool is_free = false;
};

// The parts of a graph that instantiation keeps.
struct ExecutableGraph {
    size_t node_count = 0;
    std::vector<HostCall> host_calls;
    std::vector<MemoryNode> memory_nodes;  // in the order of the graph
    std::map<int, size_t> held_bytes;      // by device, since a launch; see graph_memory.h
    std::vector<UserObject*> user_objects;
};

std::unique_ptr<Graph> clone_graph(const Graph& graph);
void fill_executable(const Graph& graph, ExecutableGraph* executable);
bool leads_to(const GraphNode* from, const GraphNode* to);

// Drops references. Appends the calls that destroy objects; make them without the lock.
void release_user_objects(std::vector<UserObject*>* objects, std::vector<HostCall>* destroy_calls);

}  // namespace simgpu
