#include "moment_event.h"

#include "report/replay/levels/level_replay.h"
#include "report/replay/levels/refused_requests.h"
#include "report/replay/phases/find_ranges.h"
#include "report/replay/phases/phase_replay.h"

namespace peakline::report {
namespace {

class MomentFollower : public BlockFollower {
public:
    // Listens after `levels`. All must outlive this.
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
            peaks_.resize(std::max<size_t>(peaks_.size(), block.shape.device + size_t{1}));
            peaks_[block.shape.device] = block.at;
        }
    }
    void on_main_end(EventTime) { main_has_ended_ = true; }

    EventTime found(uint32_t device) const {
        const bool is_peak =
            moment_.kind == MomentKind::kPeak || moment_.kind == MomentKind::kPhase;
        return !is_peak ? found_ : device < peaks_.size() ? peaks_[device] : EventTime{};
    }

private:
    const TraceReader& reader_;
    const Moment& moment_;
    const LevelReplay& levels_;
    std::vector<EventTime> peaks_;  // by device
    EventTime found_ = {};
    bool main_has_ended_ = false;
};

}  // namespace

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
        const RefusedRequest& one = refused.numbered(asked.moment.request_number, reader.name());
        return {one.event, one.request.tick, one.request.device};
    }
    if (asked.moment.kind == MomentKind::kPhase) {
        find_phase_ranges(reader, &asked, progress);
    }
    BlockStream stream(reader);
    LevelReplay levels(stream, asked);
    MomentFollower follower(reader, asked.moment, levels);
    stream.run(progress, levels, follower);
    const uint32_t device = levels.finish().chosen.device;
    const EventTime at = follower.found(device);
    return {at.event, at.tick, device};
}

}  // namespace peakline::report
