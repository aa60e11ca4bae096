// Says whether Python frames may be read now, and reads them: closed until the offsets are
// verified, closed again while the interpreter ends. Hot path.
//
// Note [End of the interpreter]
// Py_FinalizeEx frees the thread states of daemon threads and of C++ threads while those threads
// may be anywhere, also inside a capture. So we close the gate in two steps:
//   1. An atexit callback of Python, while all thread states still live: close_to_others() lets
//      only its own thread through, then waits until no other thread is inside a capture.
//   2. Py_AtExit, when the interpreter is gone: close() lets nobody through.
// A capturing thread marks itself (ThreadScratch::is_capturing) and then looks at the gate; the
// closing thread closes the gate, puts a barrier on all threads (membarrier), and then looks at
// the marks. One of the two sees the other, and the capturing thread needs no fence of its own.
#pragma once

#include <atomic>

#include "frame_walker.h"
#include "known_frames.h"
#include "thread_slot.h"

namespace peakline::pyhook {

enum class GateState : uint32_t { kClosed, kOpen, kExiting };

struct WalkGate {
    // relaxed everywhere: the order against is_capturing comes from the barrier on all threads,
    // and the pointers are set before the gate opens, under the GIL that a thread with
    // Python frames has held since.
    std::atomic<GateState> state{GateState::kClosed};
    std::atomic<Walker> walker{nullptr};
    std::atomic<HashWalker> hash_walker{nullptr};
    std::atomic<Comparer> comparer{nullptr};
    std::atomic<ThreadStateGetter> getter{nullptr};
    std::atomic<ptrdiff_t> thread_slot{0};  // 0: the getter is asked
};
extern WalkGate g_walk_gate;

void open_gate(const PythonLayout& layout, ThreadStateGetter getter);
void close_gate_to_others_slow();
void close_gate();
// When it may be another one from now on: see Note [Slot of the thread state].
void forget_thread_slot();

// While exiting: only the thread that ends the interpreter.
bool is_exiting_thread();

inline bool may_walk() {
    const GateState state = g_walk_gate.state.load(std::memory_order_relaxed);
    if (__builtin_expect(state == GateState::kOpen, 1)) {
        return true;
    }
    return state == GateState::kExiting && is_exiting_thread();
}

// Where may_walk(). nullptr: this thread has none.
inline const void* own_thread_state() {
    const ptrdiff_t slot = g_walk_gate.thread_slot.load(std::memory_order_relaxed);
    return __builtin_expect(slot != 0, 1) ? read_thread_slot(slot)
                                          : g_walk_gate.getter.load(std::memory_order_relaxed)();
}

// This thread's Python frames, leaf first: how many were written to `out`. `*truncated`: there
// were more. 0 without Python, without frames, and when the gate is closed.
inline size_t walk_frames(RawFrame* out, size_t capacity, bool* truncated) {
    *truncated = false;
    if (!may_walk()) {
        return 0;
    }
    const Walker walker = g_walk_gate.walker.load(std::memory_order_relaxed);
    return walker(own_thread_state(), out, capacity, truncated);
}

// The hash of what walk_frames would write.
inline HashedWalk hash_frames() {
    if (!may_walk()) {
        return {};
    }
    const HashWalker walker = g_walk_gate.hash_walker.load(std::memory_order_relaxed);
    return walker(own_thread_state());
}

// Whether this thread's frames are the ones of Note [Known stacks] in known_frames.h.
inline bool frames_are(const KnownFrames& known) {
    if (!may_walk()) {
        return false;
    }
    const Comparer comparer = g_walk_gate.comparer.load(std::memory_order_relaxed);
    return comparer(own_thread_state(), known);
}

}  // namespace peakline::pyhook
