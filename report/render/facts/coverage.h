// The part of a run that its trace covers, when the trace keeps less than every event: limits are
// never silent. Empty or null for a trace of every event.
#pragma once

#include <string>

#include "report/render/format/json_writer.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Lines below a report.
std::string coverage_text(const TraceReader& reader);
// The field "kept": null, or an object.
void put_coverage(JsonWriter& json, const TraceReader& reader);

}  // namespace peakline::report
