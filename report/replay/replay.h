// Records to levels, peaks and live blocks. Uses the recorder's own peak tracker, so both find
// the same peak: the earliest strict maximum over the traced ranges.
#pragma once

#include "report/replay/phases/phase_result.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Replays the events, or uses the recorder's summary when the trace has no events. Throws
// TraceError when the trace has no result for the request; the message states the possible
// requests.
ReplayResult replay(const TraceReader& reader,
                    const ReplayRequest& request,
                    const Progress& progress = {});

struct PhasesOfDevice {
    PhaseResult phases;
    DeviceTotals chosen;  // the requested device, or the sum of all
};

// Returns the phases of a trace and the device of `request`, in its measure. Throws TraceError when
// the trace has only other devices.
PhasesOfDevice replay_phases_of_device(const TraceReader& reader,
                                       const PhaseRules& rules,
                                       const ReplayRequest& request,
                                       const Progress& progress = {});

}  // namespace peakline::report
