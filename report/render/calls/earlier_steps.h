// The part of `phases` about steps and phases before the first kept event.
#pragma once

#include "phases_report.h"

namespace peakline::report {

// The field `earlier`: null when the trace has every event.
void put_earlier(Document& document, const PhasesReport& report);

}  // namespace peakline::report
