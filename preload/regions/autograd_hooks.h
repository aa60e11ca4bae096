// What torch's autograd engine and record_function report: nodes that run, engines within nodes,
// named scopes.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/capture/threads/thread_state.h"
#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Before the first of the others. False when memory cannot be mapped.
bool init_operator_names();

// The entries of torch_part::Host.
void begin_node(const char* name, int64_t sequence, uint64_t forward_thread);
void end_node();
void begin_scope(const char* name);
void end_scope(const char* name);

// Around a run of the engine on this thread, also one within a node. The first returns what the
// second must be given.
uint32_t begin_engine_run();
void end_engine_run(uint32_t outer_caller);

// Note [Graphs]
// Stacks do not say whether a forward pass is for a backward pass. A thread that makes an autograd
// node while gradients are on marks it, once until the engine has run (or another trace is open):
// that is one event per training step.
extern std::atomic<uint32_t> g_graph_epoch;
void mark_graph_slow(capture::ThreadState& state, uint32_t epoch);
// relaxed: a thread that sees the number late marks its graph a node later.
inline void mark_graph_if_new(capture::ThreadState& state) {
    const uint32_t epoch = g_graph_epoch.load(std::memory_order_relaxed);
    if (state.graph_epoch != epoch) [[unlikely]] {
        mark_graph_slow(state, epoch);
    }
}
// Every thread marks its next graph.
void forget_graphs();

// Called on the main thread when a step of an optimizer has ended.
void call_after_steps(void (*call)());

// The same as begin_node, of the torch::autograd::Node at `node`: its name is asked for once a
// type. Never throws.
void begin_node_of(const torch_part::Part& part, const void* node);

}  // namespace peakline::preload
