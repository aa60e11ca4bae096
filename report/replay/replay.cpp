// Chooses the source of the answer: events, or the recorder's summary.
#include "replay.h"

#include "level_replay.h"
#include "summary_replay.h"

namespace peakline::report {

ReplayResult replay(const TraceReader& reader,
                    const ReplayRequest& request,
                    const Progress& progress) {
    if (!reader.has_events() && !reader.summary().views.empty()) {
        return replay_summary(reader, request);
    }
    LevelReplay visitor(reader, request);
    const EventTotals totals = reader.read_events(visitor, progress);
    return visitor.finish(totals);
}

}  // namespace peakline::report
