#include "model/streams/graph_memory.h"

#include <algorithm>

namespace simgpu {

GraphMemory& GraphMemory::instance() {
    static auto* const memory = new GraphMemory;
    return *memory;
}

uintptr_t GraphMemory::reserve(Device& device, size_t bytes) {
    const size_t whole_bytes = round_up(std::max<size_t>(bytes, 1), kGranuleBytes);
    const uintptr_t address = device.take_addresses(whole_bytes, kGranuleBytes);
    if (address != 0) {
        nodes_[address] = {device.ordinal(), whole_bytes, false};
    }
    return address;
}

void GraphMemory::set_live(Node* node, bool is_live) {
    if (node->is_live == is_live) {
        return;
    }
    node->is_live = is_live;
    GraphMemoryUse& use = uses_[node->device];
    use.used_bytes += is_live ? node->bytes : 0 - node->bytes;
    use.used_high_bytes = std::max(use.used_high_bytes, use.used_bytes);
}

CUresult GraphMemory::free(uintptr_t address) {
    const auto found = nodes_.find(address);
    // Also works for a graph that was never launched: torch frees blocks when their graph is
    // destroyed.
    if (found == nodes_.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    set_live(&found->second, false);
    return CUDA_SUCCESS;
}

CUresult GraphMemory::launch(World& world, ExecutableGraph* executable) {
    std::map<int, size_t> levels;
    for (const MemoryNode& node : executable->memory_nodes) {
        const Node& known = nodes_[node.address];
        size_t& level = levels[known.device];
        size_t& held = executable->held_bytes[known.device];
        if (node.is_free) {
            level -= std::min(level, known.bytes);  // the node may be in another graph
            continue;
        }
        level += known.bytes;
        if (level <= held) {
            continue;
        }
        GraphMemoryUse& use = uses_[known.device];
        const size_t from_unused = std::min(use.unused_bytes, level - held);
        const size_t from_device = level - held - from_unused;
        if (!world.device(known.device).charge(from_device)) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        use.unused_bytes -= from_unused;
        use.reserved_bytes += from_device;
        use.reserved_high_bytes = std::max(use.reserved_high_bytes, use.reserved_bytes);
        held = level;
    }
    for (const MemoryNode& node : executable->memory_nodes) {
        set_live(&nodes_[node.address], !node.is_free);
    }
    return CUDA_SUCCESS;
}

void GraphMemory::forget(ExecutableGraph* executable) {
    for (const auto& [device, bytes] : executable->held_bytes) {
        uses_[device].unused_bytes += bytes;
    }
    executable->held_bytes.clear();
}

void GraphMemory::trim(Device& device) {
    GraphMemoryUse& use = uses_[device.ordinal()];
    device.discharge(use.unused_bytes);
    use.reserved_bytes -= use.unused_bytes;
    use.unused_bytes = 0;
}

void GraphMemory::drop(Device& device) {
    device.discharge(uses_[device.ordinal()].reserved_bytes);
    uses_[device.ordinal()] = {};
    for (auto& [address, node] : nodes_) {
        node.is_live = node.is_live && node.device != device.ordinal();
    }
}

}  // namespace simgpu
