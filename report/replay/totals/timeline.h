// The level of memory over time, in as many points as a screen has room for. A long trace is not
// decoded for it: the headers of its chunks state the level each begins with and its largest one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/trace/reader.h"

namespace peakline::report {

struct TimelinePoint {
    uint64_t tick = 0;         // where it begins; it ends where the next one begins
    uint64_t level_bytes = 0;  // at its begin
    uint64_t max_bytes = 0;    // largest level within it
};

struct Timeline {
    std::vector<TimelinePoint> points;  // of equal length; empty when there are no events
    uint64_t end_tick = 0;
    uint64_t end_bytes = 0;  // the last level known
    uint64_t peak_bytes = 0;
    uint64_t peak_tick = 0;     // exact, or where the chunk with the peak begins
    bool from_headers = false;  // times are those of chunks
    uint64_t skipped_chunk_count = 0;
    // The same of all blocks, where `shown` of the request leaves some out.
    uint64_t whole_peak_bytes = 0;
    uint64_t whole_peak_tick = 0;
};

struct TimelineRequest {
    std::optional<uint32_t> device;  // nullopt: the sum of the GPUs
    uint64_t point_count = 1;
    const std::vector<bool>* shown = nullptr;  // by ordinal, as select_blocks() gives; nullptr: all
};

// Where the events of a trace begin; 0: it has none.
uint64_t first_event_tick(const TraceReader& reader);

// Bytes of blocks as torch allocates them, traced or not. One device, some of the blocks, or fewer
// than two chunks a point: every event is decoded.
Timeline make_timeline(const TraceReader& reader,
                       const TimelineRequest& request,
                       const Progress& progress = {});

}  // namespace peakline::report
