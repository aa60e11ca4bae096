// Records to levels, peaks and live blocks. Uses the recorder's own peak tracker, so both find
// the same peak: the earliest strict maximum over the traced ranges.
#pragma once

#include "report/replay/phases/phase_result.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Answers from the events, or from the recorder's summary when the trace has no events. Throws
// TraceError when the trace cannot answer, saying what it could.
ReplayResult replay(const TraceReader& reader,
                    const ReplayRequest& request,
                    const Progress& progress = {});

struct PhasesOfDevice {
    PhaseResult phases;
    DeviceTotals chosen;  // the device asked for, or the sum of all
};

// The phases of a trace and the device that `request` is about, in its measure. Throws TraceError
// when the trace has other devices only.
PhasesOfDevice replay_phases_of_device(const TraceReader& reader,
                                       const PhaseRules& rules,
                                       const ReplayRequest& request,
                                       const Progress& progress = {});

}  // namespace peakline::report
