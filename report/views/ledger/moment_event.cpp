#include "moment_event.h"

#include <cstdio>
#include <map>
#include <optional>

#include "report/replay/levels/level_replay.h"
#include "report/replay/levels/refused_requests.h"
#include "report/replay/phases/find_ranges.h"
#include "report/replay/phases/phase_replay.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

class MomentFollower : public BlockFollower {
public:
    // Must come after `levels` in the pass. All must outlive this.
    MomentFollower(const TraceReader& reader, const Moment& moment, const LevelReplay& levels)
        : reader_(reader), moment_(moment), levels_(levels) {}

    void before_event(EventTime at) {
        if (moment_.kind == MomentKind::kTime && reader_.seconds(at.tick) <= moment_.seconds) {
            found_ = at;
        }
        if (moment_.kind == MomentKind::kEnd && !main_has_ended_) {
            found_ = at;
        }
    }
    void on_alloc(const BlockAlloc& block) {
        const bool is_peak =
            moment_.kind == MomentKind::kPeak || moment_.kind == MomentKind::kPhase;
        if (is_peak && levels_.is_new_peak(block)) {
            peaks_[block.shape.device] = block.at;
        }
    }
    void on_main_end(EventTime) { main_has_ended_ = true; }

    // nullopt: no event reached the peak.
    std::optional<EventTime> found(uint32_t device) const {
        const bool is_peak =
            moment_.kind == MomentKind::kPeak || moment_.kind == MomentKind::kPhase;
        const auto peak = peaks_.find(device);
        return !is_peak               ? std::optional(found_)
               : peak != peaks_.end() ? std::optional(peak->second)
                                      : std::nullopt;
    }

private:
    const TraceReader& reader_;
    const Moment& moment_;
    const LevelReplay& levels_;
    std::map<uint32_t, EventTime> peaks_;  // by device
    EventTime found_ = {};
    bool main_has_ended_ = false;
};

[[noreturn]] void throw_before_kept(const TraceReader& reader, const char* what, uint64_t tick) {
    char text[160];
    std::snprintf(text,
                  sizeof text,
                  ": %s, at t=%.3f s, lies before the events that this trace keeps, which "
                  "begin at t=%.3f s; name a moment from there on, --at end for example",
                  what,
                  reader.seconds(tick),
                  reader.seconds(reader.checkpoint() != nullptr ? reader.checkpoint()->tick : 0));
    throw TraceError(reader.name() + text);
}

}  // namespace

void need_standing(const TraceReader& reader, const std::string& report) {
    if (!reader.knows_standing()) {
        throw TraceError(reader.name() + ": " + report +
                         " needs the state before the kept events, which this trace does not have:"
                         " record it again with this peakline, or without --keep");
    }
}

void find_phase_ranges(const TraceReader& reader,
                       ReplayRequest* request,
                       const Progress& progress) {
    PhaseRequest asked;
    asked.measure = request->measure;
    const PhaseResult phases = replay_phases(reader, *request->phase_rules, asked, progress);
    request->moment.phase_ranges =
        need_ranges(reader, phases.table, request->moment.phase, progress);
}

MomentEvent find_moment_event(const TraceReader& reader,
                              const ReplayRequest& request,
                              const Progress& progress) {
    ReplayRequest asked = request;
    if (asked.moment.kind == MomentKind::kOutOfMemory) {
        const RefusedRequests refused = find_refused_requests(reader, progress);
        const RefusedRequest& one = refused.numbered(asked.moment.request_number, reader);
        if (one.earlier != nullptr) {
            throw_before_kept(reader, "the request", one.request.tick);
        }
        return {one.event, one.request.tick, one.request.device};
    }
    if (asked.moment.kind == MomentKind::kPhase) {
        find_phase_ranges(reader, &asked, progress);
    }
    BlockStream stream(reader);
    LevelReplay levels(stream, asked);
    MomentFollower follower(reader, asked.moment, levels);
    stream.run(progress, levels, follower);
    const DeviceTotals device = levels.finish().chosen;
    const std::optional<EventTime> at = follower.found(device.device);
    if (!at && reader.is_bounded()) {
        throw_before_kept(reader, "the peak", device.peak_tick);
    }
    return {at ? at->event : 0, at ? at->tick : 0, device.device};
}

}  // namespace peakline::report
