// The level of memory over time, with as many points as fit on a screen. A long trace is not
// decoded for it: the headers of its chunks state the first level and the largest level of each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/trace/reader.h"

namespace peakline::report {

struct TimelinePoint {
    uint64_t tick = 0;         // beginning; it ends where the next one begins
    uint64_t level_bytes = 0;  // at the beginning
    uint64_t max_bytes = 0;    // largest level within it
};

struct Timeline {
    std::vector<TimelinePoint> points;  // of equal length; empty when there are no events
    uint64_t end_tick = 0;
    uint64_t end_bytes = 0;  // the last level known
    uint64_t peak_bytes = 0;
    uint64_t peak_tick = 0;     // exact, or the beginning of the chunk with the peak
    bool from_headers = false;  // times are those of chunks
    uint64_t skipped_chunk_count = 0;
    // The same for all blocks, if `shown` of the request leaves some out.
    uint64_t whole_peak_bytes = 0;
    uint64_t whole_peak_tick = 0;
};

struct TimelineRequest {
    std::optional<uint32_t> device;  // nullopt: the sum of the GPUs
    uint64_t point_count = 1;
    const std::vector<bool>* shown = nullptr;  // by ordinal, from select_blocks(); nullptr: all
};

// The tick of the first event; 0: the trace has none.
uint64_t first_event_tick(const TraceReader& reader);

// Bytes of blocks as torch allocates them, traced or not. Decodes every event for one device, for
// some of the blocks, or with fewer than two chunks per point.
Timeline make_timeline(const TraceReader& reader,
                       const TimelineRequest& request,
                       const Progress& progress = {});

}  // namespace peakline::report
