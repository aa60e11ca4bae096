// Finds the stack that created an autograd node. The forward side stores the Python stack for every
// sequence number that a thread takes; the backward side looks it up when the node runs. Numbers
// are per thread and rise by one, so a ring indexed by number needs no lock: the engine passes the
// node on after the forward side wrote, and that orders the two.
#pragma once

#include <cstdint>

#include "allocator/capture/threads/thread_state.h"

namespace peakline::capture {

// Torch's id of this thread, which never changes.
void begin_sequences(ThreadState& state, uint64_t autograd_thread_id);

// This thread took `sequence` with this stack. Stores nothing before begin_sequences(), or if that
// got no memory.
void remember_sequence(ThreadState& state, uint64_t sequence, uint32_t python_node);

// The stack stored for it, 0 if unknown or overwritten.
uint32_t find_sequence(uint64_t autograd_thread_id, uint64_t sequence);

// A node starts or ends on this thread.
void begin_node(ThreadState& state, const RunningNode& node);
void end_node(ThreadState& state);

// Note [The line of a leaf]
// AccumulateGrad has no sequence number: it belongs to the forward line of the node that made its
// gradient. Both run on the thread of their device, where leaves run before all other nodes. So
// that node is mostly the last one that ended on this thread and is no leaf itself: the leaf of
// another thread may come between the two. If the two devices differ (`x.to("cuda:1")`, `x.cpu()`),
// so do the threads; then a node registers its stack for the leaves that it is about to reach,
// before the engine queues them. Once any node has registered its leaves, every node does, so a
// lookup always finds the latest entry.

// Whether a node of this thread has to register its leaves although only one device is in use.
bool reports_leaves(const ThreadState& state);
// `leaf`: the address of its AccumulateGrad.
void report_leaf(const void* leaf, uint32_t forward_node);
// Returns and removes the stack registered for this leaf; else that of the node that ended last
// here.
uint32_t forward_of_leaf(const ThreadState& state, const void* leaf);

// The engine starts or ends on this thread; within a node its sums are not that node's. `caller`:
// the Python stack that calls it. Pass the result of the first to the second.
uint32_t begin_engine(ThreadState& state, uint32_t caller);
void end_engine(ThreadState& state, uint32_t outer_caller);

// The node that owns the current allocations of this thread: the running one. On a thread of the
// engine, or one without Python frames, it may be the one that ended last: the engine sums its
// outputs after it, and hooks of tensors run between two nodes.
RunningNode owning_node(const ThreadState& state, bool has_python_frames);

// Note [The stack of a new node]
// Code that the engine runs in a node may make nodes itself: double backward, the recomputation
// of checkpointing, a backward function in Python. On a thread of the engine its Python stack ends
// at the engine's call; the forward stack of the running node continues it.
// Returns the whole stack of a node made now. `python_node`: this thread's Python stack.
uint32_t stack_of_new_node(record::StackTable& table,
                           const ThreadState& state,
                           uint32_t python_node);

}  // namespace peakline::capture
