#include "phase_nesting.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

bool is_training(Phase phase) {
    return phase == Phase::kForward || phase == Phase::kBackward || phase == Phase::kOptimizer;
}

}  // namespace

void PhaseNesting::open_phase(PhaseTrack& track, OpenPhase open, EventTime at) {
    const bool is_outermost = track.open.empty();
    if (is_outermost) {
        if (open.phase == Phase::kBackward) {
            track.run.make_forward(phases_, track.has_graph);
            track.has_graph = false;
        }
        track.before_engine.clear();
        steps_.on_phase(open.phase, at);
    }
    PhaseInterval& interval = phases_.emplace_back();
    interval.phase = open.phase;
    interval.name = phase_name(open.phase);
    interval.thread = track.thread;
    interval.parent = is_outermost ? kNoInterval : track.open.back().interval;
    interval.depth = static_cast<uint32_t>(track.open.size());
    interval.begin_event = at.event;
    interval.begin_tick = at.tick;
    open.interval = static_cast<uint32_t>(phases_.size() - 1);
    open.window = meter_.open(at.tick);
    if (open.source == PhaseSource::kScope) {
        track.scopes[open.scope_name].push_back(track.open.size());
    }
    track.open.push_back(open);
    track.top_phase = open.phase;
    track.training_phase_count += is_training(open.phase) ? 1 : 0;
}

// Ends the innermost interval and returns its index.
uint32_t PhaseNesting::close_interval(PhaseTrack& track, EventTime at) {
    const OpenPhase closed = track.open.back();
    track.open.pop_back();
    if (closed.source == PhaseSource::kScope) {
        track.scopes[closed.scope_name].pop_back();
    }
    PhaseInterval& interval = phases_[closed.interval];
    interval.end_event = at.event;
    interval.end_tick = at.tick;
    interval.uses = meter_.close(closed.window);
    track.top_phase = track.open.empty() ? Phase::kNone : track.open.back().phase;
    return closed.interval;
}

void PhaseNesting::close_top(PhaseTrack& track, EventTime at) {
    const OpenPhase closed = track.open.back();
    close_interval(track, at);
    if (!track.open.empty()) {
        return;
    }
    if (closed.phase == Phase::kForward || closed.phase == Phase::kOther) {
        track.run.add(closed.interval);
        track.repeated.end(phases_);
    } else if (closed.phase == Phase::kZeroGrad) {
        track.run.add_gap();
    } else {
        track.run.clear();
    }
    if (closed.phase == Phase::kZeroGrad) {
        steps_.on_zero_grad_end(at);
    }
    if (closed.phase == Phase::kOptimizer) {
        steps_.on_optimizer_end(at);
    }
    if (closed.phase == Phase::kBackward && !track.in_closure.empty()) {
        leave_closure(track, at);
    }
}

void PhaseNesting::close_stack_derived(PhaseTrack& track, EventTime at) {
    while (!track.open.empty() && track.open.back().source == PhaseSource::kStack) {
        close_top(track, at);
    }
}

void PhaseNesting::split_forward(PhaseTrack& track, EventTime at) {
    RepeatedPasses repeated = std::move(track.repeated);
    track.repeated = {};
    OpenPhase open = track.open.back();
    const uint32_t before = open.interval;
    close_top(track, at);
    open_phase(track, open, at);
    repeated.split(before, track.open.back().interval);
    track.repeated = std::move(repeated);
}

// The phases of a closure are those of a loop: the optimizer's own begins again after them, so that
// its step is not one large phase.
void PhaseNesting::enter_closure(PhaseTrack& track, EventTime at) {
    const bool in_optimizer =
        !track.open.empty() &&
        std::all_of(track.open.begin(), track.open.end(), [](const OpenPhase& open) {
            return open.phase == Phase::kOptimizer && open.source == PhaseSource::kScope;
        });
    if (!in_optimizer) {
        return;
    }
    for (const OpenPhase& open : track.open) {
        track.in_closure.push_back(open.scope_name);
    }
    while (!track.open.empty()) {
        PhaseInterval& before = phases_[close_interval(track, at)];
        if (before.last_alloc_event < before.begin_event) {
            before.phase = Phase::kNone;  // it did nothing: removed at the end
        }
    }
    track.run.clear();
    steps_.on_closure_begin();
}

void PhaseNesting::leave_closure(PhaseTrack& track, EventTime at) {
    close_stack_derived(track, at);
    if (!track.open.empty()) {
        return;
    }
    for (const uint32_t name : std::exchange(track.in_closure, {})) {
        OpenPhase open;
        open.phase = Phase::kOptimizer;
        open.source = PhaseSource::kScope;
        open.scope_name = name;
        open_phase(track, open, at);
    }
}

void PhaseNesting::end_run(PhaseTrack& track, bool has_died) {
    if (has_died) {
        track.run.end_of_dead(phases_, track.has_graph);
    } else {
        track.run.end(phases_);
    }
    track.has_graph = false;
}

}  // namespace peakline::report
