// Chooses the source of the answer: events, or the recorder's summary.
#include "replay.h"

#include <algorithm>
#include <utility>

#include "choose_device.h"
#include "level_replay.h"
#include "report/trace/trace_error.h"
#include "summary_replay.h"

namespace peakline::report {
namespace {

PhaseRequest phase_request(const ReplayRequest& request) {
    PhaseRequest asked;
    asked.measure = request.measure;
    asked.sum_devices = request.device.kind == DeviceChoiceKind::kAll;
    return asked;
}

// It ended before the events that this trace keeps.
bool is_in_checkpoint(const TraceReader& reader, const std::string& phase) {
    const Checkpoint* checkpoint = reader.checkpoint();
    return checkpoint != nullptr &&
           std::any_of(checkpoint->phases.begin(),
                       checkpoint->phases.end(),
                       [&](const PhaseSummary& summary) {
                           return reader.definitions().text(summary.name) == phase;
                       });
}

// A pass of its own over the events: what became of the blocks shows only after the moment.
void add_facts(const TraceReader& reader,
               const ReplayRequest& request,
               const Progress& progress,
               ReplayResult* result) {
    std::vector<TrackedBlock>& blocks = result->blocks.blocks;
    std::sort(blocks.begin(), blocks.end(), [](const TrackedBlock& a, const TrackedBlock& b) {
        return a.ordinal < b.ordinal;
    });
    PhaseRequest asked = phase_request(request);
    for (const TrackedBlock& block : blocks) {
        asked.ordinals.push_back(block.ordinal);
    }
    PhaseResult phases = replay_phases(reader, *request.phase_rules, std::move(asked), progress);
    for (size_t i = 0; i < blocks.size(); ++i) {
        blocks[i].facts = phases.facts[i];
    }
    result->phases = std::move(phases.table);
}

}  // namespace

ReplayResult replay(const TraceReader& reader,
                    const ReplayRequest& request,
                    const Progress& progress) {
    if (!reader.has_events() && !reader.summary().views.empty()) {
        return replay_summary(reader, request);
    }
    ReplayRequest asked = request;
    if (request.moment.kind == MomentKind::kPhase && request.phase_rules != nullptr) {
        const PhaseResult phases =
            replay_phases(reader, *request.phase_rules, phase_request(request), progress);
        asked.moment.phase_ranges = find_phase(phases.table, request.moment.phase);
        if (asked.moment.phase_ranges.empty() && !is_in_checkpoint(reader, request.moment.phase)) {
            throw TraceError(reader.name() + ": phase '" + request.moment.phase +
                             "' is not in this trace; peakline phases lists its phases");
        }
    }
    BlockStream stream(reader);
    LevelReplay levels(stream, asked);
    stream.run(progress, levels);
    ReplayResult result = levels.finish();
    if (request.detail == Detail::kBlocks && request.phase_rules != nullptr) {
        add_facts(reader, request, progress, &result);
    }
    return result;
}

PhasesOfDevice replay_phases_of_device(const TraceReader& reader,
                                       const PhaseRules& rules,
                                       const ReplayRequest& request,
                                       const Progress& progress) {
    PhasesOfDevice result;
    result.phases = replay_phases(reader, rules, phase_request(request), progress);
    // The sum of all is the only entry.
    const DeviceChoice choice =
        request.device.kind == DeviceChoiceKind::kAll ? DeviceChoice() : request.device;
    result.chosen = choose_device(result.phases.devices, choice, reader.name());
    return result;
}

}  // namespace peakline::report
