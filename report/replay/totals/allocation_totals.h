// Counts over the whole trace, traced or not: what was allocated, how often, by whom, and what
// the records are. For `stats`; knows nothing of levels.
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
    std::vector<AllocationSum> sums;  // one of each place
    SizeHistogram requested_sizes = {};
    SizeHistogram block_sizes = {};
    // The phases of the trace in the order they first began.
    std::vector<std::string> phases;
    // Also of what a bounded trace no longer holds.
    uint64_t whole_run_allocs = 0;
    uint64_t whole_run_frees = 0;
    EventTotals events;
    TraceHealth health;
};

// From the recorder's own counts where they are whole (TraceReader::whole_totals), else from a pass
// over the events. Damage within the events is found by the pass only.
AllocationTotals count_allocations(const TraceReader& reader, const Progress& progress = {});

}  // namespace peakline::report
