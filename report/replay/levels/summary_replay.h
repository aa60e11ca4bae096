// Replays from the recorder's own summary: the peak and the end, of one device at a time.
#pragma once

#include <optional>

#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Throws TraceError for a moment or a sum of devices that needs events.
ReplayResult replay_summary(const TraceReader& reader, const ReplayRequest& request);

// Returns the same peak as replay() of every event, from the data that the recorder wrote when it
// closed a whole trace; nullopt when the request or the trace needs the events.
std::optional<ReplayResult> replay_recorded_end(const TraceReader& reader,
                                                const ReplayRequest& request);

}  // namespace peakline::report
