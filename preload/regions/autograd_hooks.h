// Entry points for torch's autograd engine and record_function: running nodes, nested engine runs,
// named scopes.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/capture/threads/thread_state.h"
#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Call before the other functions. Returns false when memory cannot be mapped.
bool init_operator_names();

// Entries of torch_part::Host.
void begin_node(const char* name, int64_t sequence, uint64_t forward_thread);
void end_node();
void begin_scope(const char* name);
void end_scope(const char* name);

// Mark a run of the engine on this thread, also one inside a node. Pass the result of the first to
// the second.
uint32_t begin_engine_run();
void end_engine_run(uint32_t outer_caller);

// Note [Graphs]
// Stacks do not show whether a forward pass belongs to a backward pass. So a thread that makes an
// autograd node with gradients enabled records a mark, once per engine run (or per trace): one
// event per training step.
extern std::atomic<uint32_t> g_graph_epoch;
void mark_graph_slow(capture::ThreadState& state, uint32_t epoch);
// relaxed: a thread that sees the number late marks its graph a node later.
inline void mark_graph_if_new(capture::ThreadState& state) {
    const uint32_t epoch = g_graph_epoch.load(std::memory_order_relaxed);
    if (state.graph_epoch != epoch) [[unlikely]] {
        mark_graph_slow(state, epoch);
    }
}
// Makes every thread mark its next graph.
void forget_graphs();

// Sets a function to call on the main thread after each optimizer step.
void call_after_steps(void (*call)());

// Like begin_node, for the torch::autograd::Node at `node`. Fetches its name once per type. Never
// throws.
void begin_node_of(const torch_part::Part& part, const void* node);

}  // namespace peakline::preload
