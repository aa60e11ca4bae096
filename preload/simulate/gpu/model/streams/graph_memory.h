// Memory of graphs, taken by allocation nodes (a captured cuMemAllocAsync). A node gets its address
// in the capture. It gets memory at the first launch of the instantiated graph: as much as the
// nodes of one launch hold at once. When freed, the memory stays the device's graph memory, for
// later launches, until cuDeviceGraphMemTrim. The world's lock guards every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "model/memory/world.h"
#include "model/streams/graph.h"

namespace simgpu {

struct GraphMemoryUse {
    size_t used_bytes = 0;  // of live allocations
    size_t used_high_bytes = 0;
    size_t reserved_bytes = 0;
    size_t reserved_high_bytes = 0;
    size_t unused_bytes = 0;  // reserved, for the next launch that needs them
};

class GraphMemory {
public:
    static GraphMemory& instance();

    // Takes addresses only. 0: there are none.
    uintptr_t reserve(Device& device, size_t bytes);
    bool owns(uintptr_t address) const { return nodes_.count(address) != 0; }
    // Frees memory of a node that has run, for a call of the program.
    CUresult free(uintptr_t address);

    CUresult launch(World& world, ExecutableGraph* executable);
    void forget(ExecutableGraph* executable);

    GraphMemoryUse& of_device(int device) { return uses_[device]; }
    void trim(Device& device);
    // For a device that is reset.
    void drop(Device& device);

private:
    struct Node {
        int device = 0;
        size_t bytes = 0;
        bool is_live = false;
    };
    void set_live(Node* node, bool is_live);

    std::map<uintptr_t, Node> nodes_;  // by address; addresses are not reused
    std::map<int, GraphMemoryUse> uses_;
};

}  // namespace simgpu
