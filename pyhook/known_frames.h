// Whether this thread's Python stack is one that was met before: what nearly every capture asks.
// Hot path; reads frames as frame_walker.h does. Called through walk_gate.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame_walker.h"

namespace peakline::pyhook {

// A walk, comparing with a stack met before, which is quicker still, and the stack is one
// cache line: between two events of a whole step nothing of it stays in the caches.
// Note [Known stacks]
// The hash of a stack that is known: absorb() of Note [Two rounds] in capture/aes_rounds.h for each
// frame, innermost first, in two chains that take turns (one alone would take longer than to follow
// the frames) and are joined at the end; they begin so that the stack without frames has hash zero.
// A frame is its position and, where a bit of `has_instance` says so, the object of its instance
// mark: which frames have one follows from their code, and an address within a code object says
// which one that is, as long as it lives. Never known: in 3.10, where positions are indices, on a
// processor without these instructions, and deeper than kMostFrames; these are hashed as above.
struct KnownFrames {
    static constexpr size_t kMostFrames = 128;

    uint64_t low;
    uint64_t high;
    uint64_t has_instance[2];  // a bit for each frame; zeros: the stack without frames
};
using Comparer = bool (*)(const void* thread, const KnownFrames& known);
// Made for this layout's version; nullptr for a version that is not known.
Comparer comparer_for(const PythonLayout& layout);
// From what a Walker wrote. False: it cannot be known.
bool know_frames(const RawFrame* entries, size_t count, KnownFrames* known);

}  // namespace peakline::pyhook
