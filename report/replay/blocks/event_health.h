// Counts, during a pass over the events, everything that makes its result incomplete, and describes
// it afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct EventHealth {
    bool tracing_seen = false;
    uint64_t records_dropped = 0;
    uint64_t bytes_dropped = 0;
    uint64_t unmatched_free_count = 0;
    uint64_t lost_definition_alloc_count = 0;
    uint64_t unknown_context_count = 0;
    uint64_t unknown_id_count = 0;        // events with any other unknown id
    uint64_t impossible_event_count = 0;  // events of an impossible device
    bool writing_stopped = false;
    uint64_t stop_error = 0;  // errno
    std::optional<uint64_t> main_end_tick;

    // Takes over the losses before the kept events, and whether tracing was on there.
    void restore(const Checkpoint& checkpoint);
    // Counts marks and losses; every pass over events passes its rare events here.
    void on_rare(const RareEvent& event, uint64_t tick);
    // Makes the sentences; `totals` are those of the pass.
    TraceHealth finish(const TraceReader& reader, const EventTotals& totals) const;

private:
    void add_counts(const std::string& name, Problems& problems) const;
    std::string end_text(const TraceReader& reader, const EventTotals& totals) const;
};

}  // namespace peakline::report
