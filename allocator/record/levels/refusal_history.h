// The last requests that a device refused, and the live set of the device then. For traces that do
// not keep every event: a checkpoint writes it, so that they show why memory ran out before the
// kept events.
// Used by the recorder under its lock. Never calls malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/format/trace_format.h"
#include "peak_groups.h"

namespace peakline::record {

class RefusalHistory {
public:
    static constexpr size_t kMostKept = 8;
    // A device with more groups keeps only its levels.
    static constexpr size_t kMostGroups = 10'000;

    struct Refused {
        uint64_t tick = 0;
        format::OutOfMemory request = {};
        format::Refusal refusal = {};
        uint64_t pool = 0;
        // On the device: blocks that torch counts, its segments, blocks still in use by other
        // streams.
        uint64_t live_bytes = 0;
        uint64_t reserved_bytes = 0;
        uint64_t waiting_bytes = 0;
    };

    void begin_trace() { count_ = 0; }
    // Fills in the sums of blocks.
    void add(Refused refused, const LiveSet& live_set);

    uint64_t count() const { return count_; }
    size_t kept_count() const {
        return static_cast<size_t>(count_ < kMostKept ? count_ : kMostKept);
    }
    // Oldest first.
    const Refused& kept(size_t index) const { return kept_[slot_of(index)]; }
    const MappedArray<BlockGroup>& groups(size_t index) const { return groups_[slot_of(index)]; }

private:
    size_t slot_of(size_t index) const {
        return static_cast<size_t>((count_ - kept_count() + index) % kMostKept);
    }

    uint64_t count_ = 0;
    Refused kept_[kMostKept];
    MappedArray<BlockGroup> groups_[kMostKept];
};

}  // namespace peakline::record
