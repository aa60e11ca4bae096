// Chooses the source of the result: events, or the recorder's summary.
#include "replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fact_follower.h"
#include "report/replay/levels/choose_device.h"
#include "report/replay/levels/level_replay.h"
#include "report/replay/levels/refused_requests.h"
#include "report/replay/levels/summary_blocks.h"
#include "report/replay/levels/summary_replay.h"
#include "report/replay/phases/find_ranges.h"
#include "report/replay/phases/phase_replay.h"
#include "report/trace/file/trace_error.h"
#include "window_blocks.h"

namespace peakline::report {
namespace {

PhaseRequest phase_request(const ReplayRequest& request) {
    PhaseRequest resolved;
    resolved.measure = request.measure;
    resolved.sum_devices = request.device.kind == DeviceChoiceKind::kAll;
    return resolved;
}

// Whether the phase ended before the kept events.
bool is_in_checkpoint(const TraceReader& reader, const std::string& phase) {
    const Checkpoint* checkpoint = reader.checkpoint();
    return checkpoint != nullptr &&
           std::any_of(checkpoint->phases.begin(),
                       checkpoint->phases.end(),
                       [&](const PhaseSummary& summary) {
                           return reader.definitions().text(summary.name) == phase;
                       });
}

// The lives of blocks are known only after the moment, so all followers go through to the end.
ReplayResult replay_blocks(const TraceReader& reader,
                           const ReplayRequest& request,
                           const Progress& progress) {
    BlockStream stream(reader);
    LevelReplay levels(stream, request);
    PhaseReplay phases(stream, *request.phase_rules, phase_request(request));
    FactFollower facts(stream, *request.phase_rules, levels, phases);
    stream.run(progress, levels, phases, facts);
    ReplayResult result = levels.finish();
    result.phases = phases.finish().table;
    std::vector<TrackedBlock>& blocks = result.blocks.blocks;
    std::sort(blocks.begin(), blocks.end(), [](const TrackedBlock& a, const TrackedBlock& b) {
        return a.ordinal < b.ordinal;
    });
    for (TrackedBlock& block : blocks) {
        block.facts = facts.of(block.ordinal);
    }
    return result;
}

ReplayResult replay_lives(const TraceReader& reader,
                          const ReplayRequest& request,
                          const Progress& progress) {
    BlockStream stream(reader);
    LevelReplay levels(stream, request);
    PhaseReplay phases(stream, *request.phase_rules, phase_request(request));
    WindowBlocks lives(stream, request, phases);
    stream.run(progress, levels, phases, lives);
    ReplayResult result = levels.finish();
    result.phases = phases.finish().table;
    result.blocks = lives.take(result.chosen.device, result.is_sum);
    return result;
}

// Aims the replay at the refused request, on the device that refused unless one was chosen. Returns
// the checkpoint's record when the request precedes the kept events, else nullptr.
const EarlierRefusal* aim_at_request(const TraceReader& reader,
                                     ReplayRequest* request,
                                     const Progress& progress) {
    const RefusedRequests refused = find_refused_requests(reader, progress);
    const RefusedRequest& one = refused.numbered(request->moment.request_number, reader);
    request->moment.event = one.event;
    if (request->device.kind == DeviceChoiceKind::kHighestPeak) {
        request->device = {DeviceChoiceKind::kNumber, one.request.device};
    }
    return one.earlier;
}

// Returns the totals of the run, and the blocks as the recorder kept them.
ReplayResult replay_earlier(const TraceReader& reader,
                            const EarlierRefusal& refused,
                            ReplayRequest request,
                            const Progress& progress) {
    const bool is_its_device = request.device.kind == DeviceChoiceKind::kNumber &&
                               request.device.number == refused.request.device;
    if (!is_its_device) {
        throw TraceError(reader.name() + ": this request precedes the kept events: " +
                         "its live blocks are known for device " +
                         std::to_string(refused.request.device) + " only");
    }
    request.moment = {};
    request.moment.kind = MomentKind::kEnd;
    ReplayResult result = replay(reader, request, progress);
    SummaryView view;
    view.device = static_cast<uint32_t>(refused.request.device);
    view.measure = request.measure;
    uint64_t level_bytes = refused.live_bytes;
    if (request.measure == format::Measure::kRequested) {
        level_bytes = 0;
        for (const SummaryGroup& group : refused.live) {
            level_bytes += group.count * group.requested_bytes;
        }
    }
    result.blocks = blocks_of(view, refused.live, level_bytes);
    return result;
}

}  // namespace

ReplayResult replay(const TraceReader& reader,
                    const ReplayRequest& request,
                    const Progress& progress) {
    if (!reader.has_events() && !reader.summary().views.empty()) {
        return replay_summary(reader, request);
    }
    if (std::optional<ReplayResult> known = replay_recorded_end(reader, request)) {
        return *std::move(known);
    }
    ReplayRequest resolved = request;
    if (request.moment.kind == MomentKind::kPhase && request.phase_rules != nullptr) {
        // The ranges of phases are known only at their end: find them in a pass before the one for
        // levels.
        const PhaseResult phases =
            replay_phases(reader, *request.phase_rules, phase_request(request), progress);
        resolved.moment.phase_ranges =
            find_ranges(reader, phases.table, request.moment.phase, progress);
        if (resolved.moment.phase_ranges.empty() &&
            !is_in_checkpoint(reader, request.moment.phase)) {
            throw TraceError(no_ranges_text(reader, phases.table, request.moment.phase));
        }
    }
    if (request.moment.kind == MomentKind::kOutOfMemory && !request.moment.event) {
        if (const EarlierRefusal* const earlier = aim_at_request(reader, &resolved, progress)) {
            return replay_earlier(reader, *earlier, resolved, progress);
        }
    }
    if (request.detail == Detail::kLives) {
        return replay_lives(reader, resolved, progress);
    }
    if (request.detail == Detail::kBlocks && request.phase_rules != nullptr) {
        return replay_blocks(reader, resolved, progress);
    }
    BlockStream stream(reader);
    LevelReplay levels(stream, resolved);
    stream.run(progress, levels);
    return levels.finish();
}

PhasesOfDevice replay_phases_of_device(const TraceReader& reader,
                                       const PhaseRules& rules,
                                       const ReplayRequest& request,
                                       const Progress& progress) {
    PhasesOfDevice result;
    result.phases = replay_phases(reader, rules, phase_request(request), progress);
    // `devices` holds only the sum of all.
    const DeviceChoice choice =
        request.device.kind == DeviceChoiceKind::kAll ? DeviceChoice() : request.device;
    result.chosen = choose_device(result.phases.devices, choice, reader.name());
    return result;
}

}  // namespace peakline::report
