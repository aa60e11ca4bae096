// Reads this thread's own Python frames without the GIL. Hot path: called at every allocation.
// Allocates nothing, locks nothing, calls nothing of Python.
// Callers: python_stack.cpp (through walk_gate.h) and the self-test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "python_layout.h"

namespace peakline::pyhook {

// Valid as long as the frame runs; resolved by code_table.h.
struct RawFrame {
    uint64_t code;      // address of the code object
    uint64_t position;  // address of the instruction; 3.10: f_lasti, sign extended
};
static_assert(sizeof(RawFrame) == 16);

// Note [Instances in stacks]
// All layers of a model run the same lines: which module runs is shown by the first local variable
// of Module._wrapped_call_impl, `self`; which operator by that of OpOverload.__call__. So after a
// frame of a watched method the walk writes one more entry: code kInstanceMark (no code object has
// this address), position the object's address. It is hashed like a frame. The frame owns the
// object, so it lives as long as the frame runs.
inline constexpr uint64_t kInstanceMark = 1;
// The outermost frames of deeper stacks are cut off.
inline constexpr size_t kMaxFrames = 1024;
// Each may have an instance mark.
inline constexpr size_t kEntriesPerFrame = 2;
static_assert(kMaxFrames % 2 == 0);  // they are hashed in pairs

// The methods whose first local variable is part of a stack.
inline constexpr size_t kMaxWatchedMethods = 8;
inline constexpr unsigned kWatchedSlots = 64;
static_assert(kMaxWatchedMethods < kWatchedSlots);  // one is always free
// At watched_slot(code) of each, or the next free place after it; 0: none.
// relaxed: set under the GIL before the methods run with anything to show.
struct WatchedMethods {
    std::atomic<uint64_t> codes[kWatchedSlots];
};
extern WatchedMethods g_watched_methods;

// Code objects are some hundred bytes large and lie at multiples of 16.
inline unsigned watched_slot(uint64_t code) {
    return static_cast<unsigned>(code >> 4U) % kWatchedSlots;
}

// Note [Walking without the GIL]
// A thread pushes and pops its own frames, and it is here now, so its chain cannot change while
// we follow it. The running frames own their code objects, so those live at least as long. No
// Python lock is taken and no Python object is changed, so capture may run while the interpreter
// is inside malloc, the garbage collector or a deallocator. Frames of other threads are never
// read.
//
// The thread state must be what PyGILState_GetThisThreadState says at every call: the "unchecked"
// getters return whoever holds the GIL (3.10, 3.11) or nothing when this thread released it
// (3.12+), and a thread of C++ gets a new state at each PyGILState_Ensure, so none may be kept.
using ThreadStateGetter = void* (*)();
// The entries of at most `capacity` frames; `out` has room for kEntriesPerFrame of each.
// `thread`: this thread's state, nullptr where it has none.
using Walker = size_t (*)(const void* thread, RawFrame* out, size_t capacity, bool* truncated);

// The same walk over at most kMaxFrames frames, without writing anything down: what a stack seen
// before needs.
// Note [Hash of a stack]
// That of hash_keys.h over the positions. An address within a code object says which one it is, so
// the code is not hashed; only in 3.10, where positions are indices, the pairs are of code and
// position. Objects of instance marks are added with a key of their frame's place: which frames
// have one follows from their code. The products do not depend on each other, so they cost nothing
// beside following the frames, and no frame goes through memory.
struct HashedWalk {
    uint64_t low;
    uint64_t high;
    uint32_t frame_count;  // 0: no Python frames
    bool truncated;
};
using HashWalker = HashedWalk (*)(const void* thread);

struct Walkers {
    Walker frames;
    HashWalker hash;
};
// Made for this layout's version; null for a version that is not known.
Walkers walkers_for(const PythonLayout& layout);

}  // namespace peakline::pyhook
