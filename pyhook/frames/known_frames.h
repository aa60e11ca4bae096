// Whether this thread's Python stack is a known one: what nearly every capture asks.
// Hot path; reads frames as frame_walker.h does. Called through walk_gate.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame_walker.h"

namespace peakline::pyhook {

// Walks the frames and compares them with a known stack. Faster than hashing, and one cache line
// per stack: between two events of a whole step nothing of it stays in the caches.
// Note [Known stacks]
// The hash of a stack that is known: absorb() of Note [Two rounds] in capture/aes_rounds.h for each
// frame, innermost first, in four chains that take turns (fewer would take longer than to read the
// frames) and are joined at the end. A frame is its position and, where a bit of `marks` says so,
// the object of its instance mark: which frames have one follows from their code, and an address
// within a code object says which one that is, as long as it lives. Never known: in 3.10, where
// positions are indices, on a processor without these instructions, and deeper than kMostFrames;
// these are hashed, see Note [Hash of a stack] in frame_walker.h.
struct KnownFrames {
    static constexpr size_t kMostFrames = 128;

    uint64_t low;
    uint64_t high;
    uint64_t marks[2];     // a bit for each frame, the innermost in the highest of the first
    uint32_t frame_count;  // 0: the stack without frames
    uint32_t unused;
};

using Comparer = bool (*)(const void* thread, const KnownFrames& known);
// Made for this layout's version; nullptr for a version that is not known.
Comparer comparer_for(const PythonLayout& layout);
// From what a Walker wrote. False: it cannot be known.
bool know_frames(const RawFrame* entries, size_t count, KnownFrames* known);

}  // namespace peakline::pyhook
