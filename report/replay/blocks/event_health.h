// Counts, during a pass over the events, what makes its answer less than the whole truth, and
// says it in words afterwards.
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
    uint64_t unknown_id_count = 0;        // events with any other
    uint64_t impossible_event_count = 0;  // of a device that cannot be
    bool writing_stopped = false;
    uint64_t stop_error = 0;  // errno
    std::optional<uint64_t> main_end_tick;

    // What was lost before the kept events, and whether tracing was on there.
    void restore(const Checkpoint& checkpoint);
    // Looks at marks and losses; every pass over events reports its rare events here.
    void on_rare(const RareEvent& event, uint64_t tick);
    // The sentences; `totals` are those of the pass.
    TraceHealth finish(const TraceReader& reader, const EventTotals& totals) const;

private:
    void add_counts(const std::string& name, Problems& problems) const;
    std::string end_text(const TraceReader& reader, const EventTotals& totals) const;
};

}  // namespace peakline::report
