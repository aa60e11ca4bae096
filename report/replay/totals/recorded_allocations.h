// Counts over the whole trace from the recorder's totals, without reading events.
#pragma once

#include <optional>

#include "allocation_totals.h"

namespace peakline::report {

// Returns the result of count_allocations(), or nullopt when the trace has no whole totals, or they
// refer to undefined ids or contradict themselves: then the caller must read the events.
std::optional<AllocationTotals> recorded_allocations(const TraceReader& reader);

}  // namespace peakline::report
