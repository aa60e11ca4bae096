// The event at which a moment is: a pass over the events, before the one that follows what was
// there then.
#pragma once

#include <cstdint>
#include <string>

#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct MomentEvent {
    // The last event that belongs to the moment, counted from 0; UINT64_MAX: all do.
    uint64_t event = UINT64_MAX;
    uint64_t tick = 0;
    uint32_t device = 0;  // that the request is about
    // For who knows the time only: the last tick that belongs to it.
    uint64_t last_tick = UINT64_MAX;
};

// Throws TraceError when the trace keeps less than every event and does not say what of torch's
// segments and of the driver's requests was there before. `what`: "the ledger".
void need_standing(const TraceReader& reader, const std::string& what);

// Fills the ranges of a moment that is a phase, by request->phase_rules. Throws TraceError when the
// trace has no such phase.
void find_phase_ranges(const TraceReader& reader, ReplayRequest* request, const Progress& progress);

// Throws TraceError when the moment lies before the events that the trace keeps.
MomentEvent find_moment_event(const TraceReader& reader,
                              const ReplayRequest& request,
                              const Progress& progress);

}  // namespace peakline::report
