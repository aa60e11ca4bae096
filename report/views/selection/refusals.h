// Refusals of reports: options that a report does not take, traces that lack its data. All throw
// TraceError; `report` is its name.
#pragma once

#include "report/trace/reader.h"
#include "selection.h"

namespace peakline::report {

// --where, for a report that does not take it.
void refuse_where(const Selection& selection, const char* report);
// Memory of the host, for a report about a GPU.
void refuse_host(const Selection& selection, const char* report);

// A trace that has only a summary.
void need_events(const TraceReader& reader, const char* report);
// The same, and also the state of one moment: a snapshot without actions.
void need_time(const TraceReader& reader, const char* report);

}  // namespace peakline::report
