// Chooses the device of a report. Used for results from events and from a summary.
#pragma once

#include <string>
#include <vector>

#include "report/replay/values/replay_result.h"

namespace peakline::report {

// Returns the requested device, else the GPU with the highest peak (the lowest number of equal
// ones), else the host memory with the highest peak. Empty when the trace has no device. Throws
// TraceError when the trace has only other devices.
DeviceTotals choose_device(const std::vector<DeviceTotals>& devices,
                           const DeviceChoice& choice,
                           const std::string& trace_name);

}  // namespace peakline::report
