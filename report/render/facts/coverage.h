// What a trace that keeps less than every event covers: limits are never silent. Both give
// nothing for a trace of every event.
#pragma once

#include <string>

#include "report/render/format/json_writer.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Lines for under a report.
std::string coverage_text(const TraceReader& reader);
// The field "kept": null, or an object.
void put_coverage(JsonWriter& json, const TraceReader& reader);

}  // namespace peakline::report
