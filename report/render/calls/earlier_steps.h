// What `phases` says of the steps and phases before the events of a trace that keeps less than all
// of them.
#pragma once

#include "phases_report.h"

namespace peakline::report {

// Field `earlier`: null where the events are all there, or nothing is known of those before.
void put_earlier(Document& document, const PhasesReport& report);

}  // namespace peakline::report
