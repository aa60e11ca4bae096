// Controls whether Python frames may be read now, and reads them. The gate is closed until the
// offsets are verified, and closed again while the interpreter ends. Hot path.
//
// Note [End of the interpreter]
// Py_FinalizeEx frees the thread states of daemon threads and of C++ threads while those threads
// may be anywhere, also inside a capture. So we close the gate in two steps:
//   1. An atexit callback of Python runs while all thread states still live. It calls
//      close_gate_to_others_slow(), which lets only its own thread through, then waits until no
//      other thread is inside a capture.
//   2. Py_AtExit runs when the interpreter is gone. It closes the gate to all threads.
// A capturing thread marks itself (ThreadScratch::is_capturing) and then reads the gate. The
// closing thread closes the gate, runs a barrier on all threads (membarrier), and then reads the
// marks. One of the two sees the other, and the capturing thread needs no fence of its own.
#pragma once

#include <atomic>

#include "frame_walker.h"
#include "known_frames.h"
#include "thread_slot.h"

namespace peakline::pyhook {

enum class GateState : uint32_t { kClosed, kOpen, kExiting };

struct WalkGate {
    // relaxed everywhere: the barrier on all threads orders them against is_capturing, and the
    // pointers are set before the gate opens, under the GIL, which a thread with Python frames has
    // held since.
    std::atomic<GateState> state{GateState::kClosed};
    std::atomic<Walker> walker{nullptr};
    std::atomic<HashWalker> hash_walker{nullptr};
    std::atomic<Comparer> comparer{nullptr};
    std::atomic<ThreadStateGetter> getter{nullptr};
    std::atomic<ptrdiff_t> thread_slot{0};  // 0: the getter is called
};
extern WalkGate g_walk_gate;

void open_gate(const PythonLayout& layout, ThreadStateGetter getter);
void close_gate_to_others_slow();
void close_gate();
// Call it when the slot may change: see Note [Slot of the thread state].
void forget_thread_slot();

// While exiting, whether this is the thread that ends the interpreter.
bool is_exiting_thread();

inline bool may_walk() {
    const GateState state = g_walk_gate.state.load(std::memory_order_relaxed);
    if (__builtin_expect(state == GateState::kOpen, 1)) {
        return true;
    }
    return state == GateState::kExiting && is_exiting_thread();
}

// Call it only if may_walk(). nullptr: this thread has none.
inline const void* own_thread_state() {
    const ptrdiff_t slot = g_walk_gate.thread_slot.load(std::memory_order_relaxed);
    return __builtin_expect(slot != 0, 1) ? read_thread_slot(slot)
                                          : g_walk_gate.getter.load(std::memory_order_relaxed)();
}

// Writes this thread's Python frames to `out`, leaf first, and returns their number. `*truncated`:
// there were more. 0 without Python, without frames, and when the gate is closed.
inline size_t walk_frames(RawFrame* out, size_t capacity, bool* truncated) {
    *truncated = false;
    if (!may_walk()) {
        return 0;
    }
    const Walker walker = g_walk_gate.walker.load(std::memory_order_relaxed);
    return walker(own_thread_state(), out, capacity, truncated);
}

// The hash of the frames that walk_frames would write.
inline HashedWalk hash_frames() {
    if (!may_walk()) {
        return {};
    }
    const HashWalker walker = g_walk_gate.hash_walker.load(std::memory_order_relaxed);
    return walker(own_thread_state());
}

// Whether this thread's frames are those of `known`, see Note [Known stacks] in known_frames.h.
inline bool frames_are(const KnownFrames& known) {
    if (!may_walk()) {
        return false;
    }
    const Comparer comparer = g_walk_gate.comparer.load(std::memory_order_relaxed);
    return comparer(own_thread_state(), known);
}

}  // namespace peakline::pyhook
