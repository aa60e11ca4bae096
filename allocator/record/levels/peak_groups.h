// The blocks live at a peak as groups of equal blocks, for a summary. Slow operations of the
// recorder, under its lock, in mapped memory.
#pragma once

#include <cstdint>

#include "allocator/record/format/trace_format.h"
#include "live_set.h"
#include "peak_tracker.h"

namespace peakline::record {

// Equal blocks of one context and stream.
struct BlockGroup {
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint64_t count;
    uint32_t context;
    uint32_t stream;
};

// One device in one measure.
struct ViewOf {
    uint32_t device;
    format::Measure measure;

    bool counts(const LiveBlock& block) const {
        return block.device == device &&
               !(measure == format::Measure::kAllocated && (block.flags & kFreeRequested) != 0);
    }
};

// Both replace `groups`. False when memory cannot be mapped.
bool gather_peak_groups(const PeakTracker& tracker,
                        const LiveSet& live_set,
                        ViewOf view,
                        MappedArray<BlockGroup>& groups);
bool gather_live_groups(const LiveSet& live_set, ViewOf view, MappedArray<BlockGroup>& groups);

// The groups of a view's last peak. They are valid until the view has another peak, so a recording
// gathers them once while its peak does not change.
struct KeptGroups {
    MappedArray<BlockGroup> groups;
    uint64_t of_ordinal = 0;
    bool is_valid = false;

    void reset() {
        groups.clear();
        is_valid = false;
    }
    void update(const PeakTracker& tracker, const LiveSet& live_set, ViewOf view);
};

}  // namespace peakline::record
