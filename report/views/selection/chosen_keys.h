// The keys of a selection as groupings, checked against the trace.
#pragma once

#include <vector>

#include "report/attribute/grouping.h"
#include "report/trace/reader.h"
#include "selection.h"

namespace peakline::report {

// Returns the keys of the rows, then those of --where. Throws TraceError when there is no such key,
// or the trace lacks its data.
std::vector<const Grouping*> chosen_keys(const TraceReader& reader, const Selection& selection);

}  // namespace peakline::report
