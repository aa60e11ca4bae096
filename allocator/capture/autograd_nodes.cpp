#include "autograd_nodes.h"

#include <atomic>
#include <cstddef>

#include "allocator/record/hot_data.h"
#include "allocator/record/tables/mapped_memory.h"

namespace peakline::capture {

namespace {

constexpr size_t kRingSlots = size_t{1} << 18;
constexpr size_t kMaxAutogradThreads = 4096;
constexpr uint64_t kSlotsAhead = 8;
constexpr size_t kReportedLeaves = size_t{1} << 12;  // many more than wait at one time

}  // namespace

struct SequenceRing {
    struct Slot {
        uint32_t sequence_plus_one;  // its lower bits: a graph lives for fewer nodes; 0: empty
        uint32_t python_node;
    };
    Slot slots[kRingSlots];
};

namespace {

// By the address of the leaf: its upper bits, which distinguish leaves, and the stack. 0: empty.
// relaxed: the engine orders a leaf after the node that registered it, and both are one word.
std::atomic<uint64_t> g_reported_leaves[kReportedLeaves];
[[PEAKLINE_HOT_DATA]] std::atomic<bool> g_leaves_are_reported{false};

std::atomic<uint64_t>& reported_leaf(const void* leaf) {
    return g_reported_leaves[(reinterpret_cast<uint64_t>(leaf) >> 4U) % kReportedLeaves];
}

// The bits of the address that are no part of the slot index.
uint64_t upper_bits(const void* leaf) {
    return reinterpret_cast<uint64_t>(leaf) >> 16U << 32U;
}

// Indexed by torch's thread id, which counts from 1. Rings stay: a graph may outlive its thread.
std::atomic<SequenceRing*> g_rings[kMaxAutogradThreads];

SequenceRing* ring_slow(uint64_t autograd_thread_id) {
    if (autograd_thread_id >= kMaxAutogradThreads) {
        return nullptr;
    }
    // acquire and release: any thread that reads the pointer sees the ring's first pages as zero.
    SequenceRing* ring = g_rings[autograd_thread_id].load(std::memory_order_acquire);
    if (ring == nullptr) {
        void* const memory = record::map_zeroed(sizeof(SequenceRing));
        if (memory == nullptr) {
            return nullptr;
        }
        ring = static_cast<SequenceRing*>(memory);
        g_rings[autograd_thread_id].store(ring, std::memory_order_release);
    }
    return ring;
}

}  // namespace

void begin_sequences(ThreadState& state, uint64_t autograd_thread_id) {
    state.sequences = ring_slow(autograd_thread_id);
}

void remember_sequence(ThreadState& state, uint64_t sequence, uint32_t python_node) {
    if (state.sequences == nullptr) {
        return;
    }
    SequenceRing::Slot& slot = state.sequences->slots[sequence % kRingSlots];
    slot.python_node = python_node;
    slot.sequence_plus_one = static_cast<uint32_t>(sequence + 1);
}

[[gnu::hot]] uint32_t find_sequence(uint64_t autograd_thread_id, uint64_t sequence) {
    if (autograd_thread_id >= kMaxAutogradThreads) {
        return 0;
    }
    const SequenceRing* ring = g_rings[autograd_thread_id].load(std::memory_order_acquire);
    if (ring == nullptr) {
        return 0;
    }
    // Nodes run from the last one back.
    __builtin_prefetch(&ring->slots[(sequence - kSlotsAhead) % kRingSlots]);
    const SequenceRing::Slot& slot = ring->slots[sequence % kRingSlots];
    return slot.sequence_plus_one == static_cast<uint32_t>(sequence + 1) ? slot.python_node : 0;
}

bool reports_leaves(const ThreadState& state) {
    if (!state.is_engine_thread) [[unlikely]] {
        return true;
    }
    return g_leaves_are_reported.load(std::memory_order_relaxed);
}

void report_leaf(const void* leaf, uint32_t forward_node) {
    reported_leaf(leaf).store(upper_bits(leaf) | forward_node, std::memory_order_relaxed);
    g_leaves_are_reported.store(true, std::memory_order_relaxed);
}

uint32_t forward_of_leaf(const ThreadState& state, const void* leaf) {
    if (!g_leaves_are_reported.load(std::memory_order_relaxed)) {
        return state.last_node.forward_node;
    }
    std::atomic<uint64_t>& reported = reported_leaf(leaf);
    const uint64_t known = reported.load(std::memory_order_relaxed);
    if (known == 0 || (known ^ upper_bits(leaf)) >> 32U != 0) {
        return state.last_node.forward_node;
    }
    reported.store(0, std::memory_order_relaxed);
    return static_cast<uint32_t>(known);
}

void begin_node(ThreadState& state, const RunningNode& node) {
    if (state.node_depth < kMaxNodeDepth) [[likely]] {
        // Copies every field separately: a copy of the whole struct would wait until the fields,
        // just written, are in memory.
        const auto& [forward_node, operator_name, is_leaf, is_engine] = node;
        state.nodes[state.node_depth] = {forward_node, operator_name, is_leaf, is_engine};
    }
    ++state.node_depth;
}

[[gnu::hot]] void end_node(ThreadState& state) {
    if (state.node_depth == 0) {
        return;
    }
    --state.node_depth;
    if (state.node_depth >= kMaxNodeDepth || state.nodes[state.node_depth].is_leaf) {
        return;
    }
    state.last_node = state.nodes[state.node_depth];
    if (state.node_depth > 0 && state.nodes[state.node_depth - 1].is_engine) {
        RunningNode& engine = state.nodes[state.node_depth - 1];
        engine = state.last_node;
        engine.is_engine = true;
    }
}

uint32_t begin_engine(ThreadState& state, uint32_t caller) {
    const uint32_t outer_caller = state.engine_caller;
    state.engine_caller = caller;
    if (state.node_depth == 0) {
        return outer_caller;
    }
    if (state.node_depth < kMaxNodeDepth) {
        state.nodes[state.node_depth] = state.nodes[state.node_depth - 1];
        state.nodes[state.node_depth].is_engine = true;
    }
    ++state.node_depth;
    return outer_caller;
}

// Nodes and engines nest: this one is on top, above a running node.
void end_engine(ThreadState& state, uint32_t outer_caller) {
    state.engine_caller = outer_caller;
    if (state.node_depth > 0) {
        --state.node_depth;
    }
}

RunningNode owning_node(const ThreadState& state, bool has_python_frames) {
    if (state.node_depth > 0) {
        const uint32_t top = state.node_depth <= kMaxNodeDepth ? state.node_depth : kMaxNodeDepth;
        return state.nodes[top - 1];
    }
    return has_python_frames && !state.is_engine_thread ? RunningNode{} : state.last_node;
}

uint32_t stack_of_new_node(record::StackTable& table,
                           const ThreadState& state,
                           uint32_t python_node) {
    const uint32_t forward = owning_node(state, python_node != 0).forward_node;
    if (forward == 0 || python_node == 0) {
        return forward | python_node;
    }
    const uint32_t joined = table.join_python_stacks(forward, python_node, state.engine_caller);
    return joined != 0 ? joined : python_node;
}

}  // namespace peakline::capture
