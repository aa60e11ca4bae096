// Finds the event of a moment in a pass over the events, before the pass that collects the state
// there.
#pragma once

#include <cstdint>
#include <string>

#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct MomentEvent {
    // The last event that belongs to the moment, counted from 0; UINT64_MAX: all events do.
    uint64_t event = UINT64_MAX;
    uint64_t tick = 0;
    uint32_t device = 0;  // the device of the request
    // For callers that know only the time: the last tick that belongs to the moment.
    uint64_t last_tick = UINT64_MAX;
};

// Throws TraceError when a bounded trace lacks the earlier state of torch's segments and the
// driver's requests. `report`: "the ledger".
void need_standing(const TraceReader& reader, const std::string& report);

// Fills the ranges of a moment in a phase, with request->phase_rules. Throws TraceError when the
// trace has no such phase.
void find_phase_ranges(const TraceReader& reader, ReplayRequest* request, const Progress& progress);

// Throws TraceError when the moment is before the events that the trace keeps.
MomentEvent find_moment_event(const TraceReader& reader,
                              const ReplayRequest& request,
                              const Progress& progress);

}  // namespace peakline::report
