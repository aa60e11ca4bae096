// Which device a report is about. Used by both ways to answer, from events and from a summary.
#pragma once

#include <string>
#include <vector>

#include "report/replay/values/replay_result.h"

namespace peakline::report {

// The device asked for, or the GPU with the highest peak (the lowest number of equal ones), or
// where there is none the memory of the host with the highest; an empty one when the trace has no
// device. Throws TraceError when the trace has others only.
DeviceTotals choose_device(const std::vector<DeviceTotals>& devices,
                           const DeviceChoice& choice,
                           const std::string& trace_name);

}  // namespace peakline::report
