// Counts over the whole trace from the totals the recorder wrote, without reading events.
#pragma once

#include <optional>

#include "allocation_totals.h"

namespace peakline::report {

// What count_allocations() answers; nullopt when the trace has no whole totals, or they name what
// is not defined or contradict themselves: then the events must be read.
std::optional<AllocationTotals> recorded_allocations(const TraceReader& reader);

}  // namespace peakline::report
