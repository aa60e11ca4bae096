// What `phases` says of the steps and phases before the events of a trace that keeps less than all
// of them.
#pragma once

#include <string>

#include "phases_report.h"
#include "report/render/format/json_writer.h"

namespace peakline::report {

// Empty where the events are all there, or nothing is known of those before.
std::string earlier_text(const PhasesReport& report);

// Field `earlier` of an open object: null in the same cases.
void put_earlier(JsonWriter& json, const PhasesReport& report);

}  // namespace peakline::report
