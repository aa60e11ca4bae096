// Whether this thread's Python stack is a known one: what nearly every capture asks.
// Hot path; reads frames as frame_walker.h does. Called through walk_gate.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame_walker.h"

namespace peakline::pyhook {

// Walks the frames and compares them with a known stack. Faster than hashing; one cache line per
// stack, since between two events of a training step nothing of it stays in the caches.
// Note [Known stacks]
// The hash of a known stack: absorb() of Note [Two rounds] in capture/aes_rounds.h for each frame,
// innermost first, in four interleaved chains that are joined at the end. Fewer chains would take
// longer than reading the frames. A frame contributes its position and, if its bit of `marks` is
// set, the object of its instance mark. The code of a frame determines whether it has a mark, and
// an address inside a code object identifies the object while it lives. Three kinds of stacks are
// never known and always hashed (Note [Hash of a stack] in frame_walker.h): those of 3.10, where
// positions are indices, those on processors without AES instructions, and those deeper than
// kMostFrames.
struct KnownFrames {
    static constexpr size_t kMostFrames = 128;

    uint64_t low;
    uint64_t high;
    uint64_t marks[2];     // a bit per frame; the innermost is the highest bit of the first word
    uint32_t frame_count;  // 0: the stack without frames
    uint32_t unused;
};

using Comparer = bool (*)(const void* thread, const KnownFrames& known);
// The comparer for this version; nullptr for an unknown version.
Comparer comparer_for(const PythonLayout& layout);
// Fills `known` from the entries that a Walker wrote. Returns false if the stack cannot be known.
bool know_frames(const RawFrame* entries, size_t count, KnownFrames* known);

}  // namespace peakline::pyhook
