// From an autograd node back to the stack that created it. The forward side stores, for every
// sequence number a thread takes, its Python stack; the backward side looks it up when the node
// runs. Numbers are per thread and rise by one, so a ring indexed by number needs no lock: the
// engine hands the node over after the forward side wrote, and that orders the two.
#pragma once

#include <cstdint>

#include "thread_state.h"

namespace peakline::capture {

inline constexpr uint64_t kNoSequence = ~uint64_t{0};  // AccumulateGrad has this number

// Torch's id of this thread, which stays the same for all its life.
void begin_sequences(ThreadState& state, uint64_t autograd_thread_id);

// This thread took `sequence` with this stack. Nothing is remembered before begin_sequences(), or
// when that got no memory.
void remember_sequence(ThreadState& state, uint64_t sequence, uint32_t python_node);

// The stack remembered for it, 0 when unknown or overwritten.
uint32_t find_sequence(uint64_t autograd_thread_id, uint64_t sequence);

// A node starts or ends on this thread. A node without number of its own (AccumulateGrad) runs
// right after the node that made its gradient and belongs to that node's forward line.
void begin_node(ThreadState& state,
                uint32_t operator_name,
                uint64_t autograd_thread_id,
                uint64_t sequence);
void end_node(ThreadState& state);

// The engine starts or ends on this thread; within a node its sums are not that node's.
void begin_engine(ThreadState& state);
void end_engine(ThreadState& state);

// The node that owns what this thread allocates now: the running one, or, on a thread of the engine
// or one without Python frames, the one that ended last: the engine sums its outputs after it, and
// hooks of tensors run between two nodes.
RunningNode owning_node(const ThreadState& state, bool has_python_frames);

}  // namespace peakline::capture
