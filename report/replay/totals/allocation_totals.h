// Counts over the whole trace, traced or not: the allocations by size and context, and the kinds of
// records. For `stats`; knows nothing of levels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/replay/blocks/event_health.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Records by kind.
struct RecordCounts {
    uint64_t alloc_class = 0;
    uint64_t alloc_inline = 0;
    uint64_t free = 0;
    uint64_t free_deferred = 0;
    uint64_t free_completed = 0;
    uint64_t mark = 0;
    uint64_t segment = 0;
    uint64_t out_of_memory = 0;
    uint64_t other = 0;
};

struct AllocationTotals {
    RecordCounts records;
    std::vector<AllocationSum> sums;  // one per context, stream and device
    SizeHistogram requested_sizes = {};
    SizeHistogram block_sizes = {};
    // The phases of the trace in the order they first began.
    std::vector<std::string> phases;
    // Includes the part of the run that a bounded trace no longer holds.
    uint64_t whole_run_allocs = 0;
    uint64_t whole_run_frees = 0;
    EventTotals events;
    TraceHealth health;
};

// Uses the recorder's own counts if they are whole (TraceReader::whole_totals), else a pass over
// the events. Only the pass finds damage within the events.
AllocationTotals count_allocations(const TraceReader& reader, const Progress& progress = {});

}  // namespace peakline::report
