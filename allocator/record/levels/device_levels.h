// The recorder's counts of one device, in both measures. Changed under the recorder's lock.
#pragma once

#include <cstdint>

#include "allocator/record/tables/prefetch.h"
#include "peak_groups.h"
#include "peak_tracker.h"

namespace peakline::record {

// Every event uses the first two cache lines.
struct alignas(kCacheLine) DeviceLevels {
    bool used = false;
    uint64_t allocs = 0;
    uint64_t frees = 0;
    PeakTracker allocated;
    alignas(kCacheLine) PeakTracker requested;
    KeptGroups allocated_groups;  // for checkpoints
    KeptGroups requested_groups;
    // For the open trace: `allocs` before its first event, and the levels at the end of main.
    uint64_t allocs_before_trace = 0;
    uint64_t end_allocated_bytes = 0;
    uint64_t end_requested_bytes = 0;

    const PeakTracker& tracker(format::Measure measure) const {
        return measure == format::Measure::kAllocated ? allocated : requested;
    }
    // Counts peaks from this moment on: the current level is the first candidate. `next_ordinal`
    // belongs to the next block.
    void start(uint64_t next_ordinal, uint64_t tick) {
        if (used) {
            allocated.start(next_ordinal - 1, next_ordinal > 0, tick);
            requested.start(next_ordinal - 1, next_ordinal > 0, tick);
        }
    }
    void stop() {
        allocated.stop();
        requested.stop();
    }
    // Forgets peaks; levels stay.
    void reset() {
        allocated.reset();
        requested.reset();
        allocated_groups.reset();
        requested_groups.reset();
    }
};

}  // namespace peakline::record
