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
    // Of callers, innermost first, that had moved when this stack was compared last: as many are
    // followed the next time.
    uint32_t followed_count;
};

// Where the frames of this thread lay when each depth was seen last, the outermost at 1; 0 is
// always nullptr, its caller. Zeros: nothing was seen.
// Note [Frames where they were]
// To follow callers is a chain of loads, each of which waits for the one before, and between two
// events of a whole step frames leave the nearest cache. But most of them lie where they lay when
// the last stack was compared. So the walk goes on from there, and that it is where the caller lies
// is a branch, which the processor predicts: it reads all frames at the same time. (Value
// prediction, Lipasti, Wilkerson, Shen 1996, in software.) A failed prediction costs more than to
// follow, so the innermost callers, which another stack had moved, are followed; in a loop these
// are the same ones every time. No part of record::Predictor: what is predicted is a value by its
// depth, not what follows the last one.
struct LastFrames {
    const void* at[KnownFrames::kMostFrames + 1];
};

using Comparer = bool (*)(const void* thread, KnownFrames& known, LastFrames& last);
// Made for this layout's version; nullptr for a version that is not known.
Comparer comparer_for(const PythonLayout& layout);
// From what a Walker wrote. False: it cannot be known.
bool know_frames(const RawFrame* entries, size_t count, KnownFrames* known);

}  // namespace peakline::pyhook
