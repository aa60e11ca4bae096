// Reads this thread's own Python frames without the GIL. Hot path: called at every allocation.
// Allocates nothing, locks nothing, calls nothing of Python.
// Callers: python_stack.cpp (through walk_gate.h) and the self-test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "python_layout.h"

namespace peakline::pyhook {

// Valid while the frame runs; code_table.h resolves it.
struct RawFrame {
    uint64_t code;      // address of the code object
    uint64_t position;  // address of the instruction; 3.10: f_lasti, sign extended
};
static_assert(sizeof(RawFrame) == 16);

// Note [Instances in stacks]
// All layers of a model run the same lines. The first local variable of Module._wrapped_call_impl,
// `self`, shows which module runs; that of OpOverload.__call__ shows which operator. So after the
// frame of a watched method the walk writes one more entry: code is kInstanceMark (no code object
// has this address), position is the object's address. It is hashed like a frame. The frame owns
// the object, so the object lives as long as the frame runs.
inline constexpr uint64_t kInstanceMark = 1;
// Deeper stacks lose their outermost frames.
inline constexpr size_t kMaxFrames = 1024;
// Each may have an instance mark.
inline constexpr size_t kEntriesPerFrame = 2;
static_assert(kMaxFrames % 2 == 0);  // frames are hashed in pairs

// The methods whose first local variable is part of a stack.
inline constexpr size_t kMaxWatchedMethods = 8;
inline constexpr unsigned kWatchedSlots = 64;
static_assert(kMaxWatchedMethods < kWatchedSlots);  // one slot is always free
// Each code is in slot watched_slot(code), or in the next free slot after it; 0: free. relaxed: set
// under the GIL before the methods first run.
struct WatchedMethods {
    std::atomic<uint64_t> codes[kWatchedSlots];
};
extern WatchedMethods g_watched_methods;

// Code objects are some hundred bytes large and aligned to 16.
inline unsigned watched_slot(uint64_t code) {
    return static_cast<unsigned>(code >> 4U) % kWatchedSlots;
}

// Note [Walking without the GIL]
// A thread pushes and pops its own frames, and runs this code now, so its chain cannot change
// during the walk. Running frames own their code objects, which live at least as long. The walk
// takes no Python lock and changes no Python object, so a capture may run while the interpreter is
// inside malloc, the garbage collector or a deallocator. It never reads frames of other threads.
//
// The thread state must be the result of PyGILState_GetThisThreadState at each call. The
// "unchecked" getters return the holder of the GIL (3.10, 3.11) or nothing after this thread has
// released it (3.12+). A C++ thread gets a new state at each PyGILState_Ensure, so states must not
// be cached.
using ThreadStateGetter = void* (*)();
// Writes the entries of at most `capacity` frames; `out` has kEntriesPerFrame entries per frame.
// `thread`: this thread's state; nullptr if it has none.
using Walker = size_t (*)(const void* thread, RawFrame* out, size_t capacity, bool* truncated);

// The same walk over at most kMaxFrames frames, which only computes a hash: enough for a stack seen
// before.
// Note [Hash of a stack]
// Hashes the positions as in hash_keys.h. An address inside a code object identifies the object, so
// the code is not hashed. Only in 3.10, where positions are indices, pairs of code and position are
// hashed. Objects of instance marks are added with a key of their frame's index: the code of a
// frame determines whether it has a mark. The products are independent, so they run in parallel
// with the loads of frames, and no frame is written to memory.
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
// The walkers for this version; null for an unknown version.
Walkers walkers_for(const PythonLayout& layout);

}  // namespace peakline::pyhook
