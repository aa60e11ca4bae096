#include "phase_follower.h"

#include <algorithm>
#include <utility>

#include "phase_steps.h"

namespace peakline::report {
namespace {

using format::MarkKind;

bool is_training(Phase phase) {
    return phase == Phase::kForward || phase == Phase::kBackward || phase == Phase::kOptimizer;
}

}  // namespace

PhaseFollower::Track& PhaseFollower::track_at(uint32_t thread) {
    Track& track = tracks_[thread];
    track.thread = track.named.thread = thread;
    return track;
}

PhaseFollower::Track& PhaseFollower::track_of(const ContextPhase& facts) {
    if (facts.in_autograd) {
        return engine_track(facts.thread);
    }
    if (current_ == nullptr || current_->thread != facts.thread) {
        current_ = &track_at(facts.thread);
        current_->runs_python = true;
    }
    return *current_;
}

// A thread of the engine works for the thread that called it.
PhaseFollower::Track& PhaseFollower::engine_track(uint32_t thread) {
    const auto own = tracks_.find(thread);
    if (own != tracks_.end() && !own->second.engine_runs.empty()) {
        return own->second;
    }
    if (!engines_.empty()) {
        return *engines_.back();
    }
    return current_ != nullptr ? *current_ : track_at(thread);
}

void PhaseFollower::open_phase(Track& track, Open open, EventTime at) {
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
    if (open.source == Source::kScope) {
        track.scopes[open.scope_name].push_back(track.open.size());
    }
    track.open.push_back(open);
    track.top_phase = open.phase;
    track.training_phase_count += is_training(open.phase) ? 1 : 0;
}

// Ends the innermost interval and returns its index.
uint32_t PhaseFollower::close_interval(Track& track, EventTime at) {
    const Open closed = track.open.back();
    track.open.pop_back();
    if (closed.source == Source::kScope) {
        track.scopes[closed.scope_name].pop_back();
    }
    PhaseInterval& interval = phases_[closed.interval];
    interval.end_event = at.event;
    interval.end_tick = at.tick;
    interval.uses = meter_.close(closed.window);
    track.top_phase = track.open.empty() ? Phase::kNone : track.open.back().phase;
    return closed.interval;
}

// The phases of a closure are those of a loop: the optimizer's own begins again after them, so that
// its step is not one large phase.
void PhaseFollower::enter_closure(Track& track, EventTime at) {
    const bool in_optimizer =
        !track.open.empty() &&
        std::all_of(track.open.begin(), track.open.end(), [](const Open& open) {
            return open.phase == Phase::kOptimizer && open.source == Source::kScope;
        });
    if (!in_optimizer) {
        return;
    }
    for (const Open& open : track.open) {
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

void PhaseFollower::leave_closure(Track& track, EventTime at) {
    close_stack_derived(track, at);
    if (!track.open.empty()) {
        return;
    }
    for (const uint32_t name : std::exchange(track.in_closure, {})) {
        Open open;
        open.phase = Phase::kOptimizer;
        open.source = Source::kScope;
        open.scope_name = name;
        open_phase(track, open, at);
    }
}

void PhaseFollower::close_top(Track& track, EventTime at) {
    const Open closed = track.open.back();
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

void PhaseFollower::close_stack_derived(Track& track, EventTime at) {
    while (!track.open.empty() && track.open.back().source == Source::kStack) {
        close_top(track, at);
    }
}

void PhaseFollower::split_forward(Track& track, EventTime at) {
    RepeatedPasses repeated = std::move(track.repeated);
    track.repeated = {};
    Open open = track.open.back();
    const uint32_t before = open.interval;
    close_top(track, at);
    open_phase(track, open, at);
    repeated.split(before, track.open.back().interval);
    track.repeated = std::move(repeated);
}

void PhaseFollower::end_run(Track& track, bool has_died) {
    if (has_died) {
        track.run.end_of_dead(phases_, track.has_graph);
    } else {
        track.run.end(phases_);
    }
    track.has_graph = false;
}

void PhaseFollower::on_graph(Track& track) {
    table_.knows_graphs = true;
    track.has_graph = track.open.empty() || track.open.front().phase != Phase::kBackward;
}

// Within a scope (an optimizer, the engine) the end of the scope decides.
void PhaseFollower::on_out_of_memory(uint64_t context, EventTime at) {
    if (context >= rules_.contexts.size()) {
        return;
    }
    Track& track = track_of(rules_.contexts[context]);
    close_stack_derived(track, at);
    if (track.open.empty()) {
        end_run(track, true);
    }
}

void PhaseFollower::enter_by_stack(Track& track, Phase phase, EventTime at) {
    if (phase == Phase::kForward || phase == Phase::kBackward) {
        enter_closure(track, at);
    } else if (phase == Phase::kOptimizer && !track.in_closure.empty()) {
        leave_closure(track, at);
    }
    if (is_before_steady(phase) && track.open.empty()) {
        // The phase around it: the pass that calls the compiled function.
        Open around;
        around.phase = Phase::kOther;
        open_phase(track, around, at);
    }
    while (!track.open.empty()) {
        const Open& top = track.open.back();
        const bool is_of_compiler = is_before_steady(phase) && top.phase < phase;
        const bool is_inside = top.source == Source::kScope || is_of_compiler ||
                               (phase == Phase::kRecomputation && top.phase == Phase::kBackward);
        if (top.phase == phase || (phase == Phase::kOther && top.source == Source::kScope)) {
            return;
        }
        if (is_inside) {
            break;
        }
        close_top(track, at);
    }
    Open open;
    open.phase = phase;
    open_phase(track, open, at);
}

void PhaseFollower::begin_scope(Track& track, Phase phase, uint32_t name, EventTime at) {
    if (phase == Phase::kBackward || phase == Phase::kZeroGrad) {
        enter_closure(track, at);
    }
    if (!track.open.empty() && track.open.back().source == Source::kStack &&
        track.open.back().phase == phase) {
        // The gradient of the loss was made just before the engine runs.
        track.open.back().source = Source::kScope;
        track.open.back().scope_name = name;
        track.scopes[name].push_back(track.open.size() - 1);
    } else {
        close_stack_derived(track, at);
        Open open;
        open.phase = phase;
        open.source = Source::kScope;
        open.scope_name = name;
        open_phase(track, open, at);
    }
    if (phase == Phase::kBackward) {
        track.engine_runs.push_back(engines_.size());
        engines_.push_back(&track);
    }
}

void PhaseFollower::end_scope(Track& track, uint32_t name, EventTime at) {
    if (!track.in_closure.empty() && track.in_closure.back() == name) {
        leave_closure(track, at);
    }
    const auto found = track.scopes.find(name);
    if (found == track.scopes.end() || found->second.empty()) {
        return;  // the scope began before the traced range
    }
    const size_t keep = found->second.back();
    const bool was_engine = track.open[keep].phase == Phase::kBackward;
    while (track.open.size() > keep + 1) {
        close_top(track, at);
    }
    if (was_engine && !track.before_engine.empty() && lingering_ == nullptr) {
        lingering_ = &track;
    } else {
        close_top(track, at);
    }
    if (was_engine) {
        end_engine(track);
    }
}

void PhaseFollower::end_engine(Track& track) {
    if (track.engine_runs.empty()) {
        return;
    }
    engines_[track.engine_runs.back()] = nullptr;
    track.engine_runs.pop_back();
    while (!engines_.empty() && engines_.back() == nullptr) {
        engines_.pop_back();
    }
}

// The gradient of the loss is freed when the engine has returned: the pass ends with this free, or
// with any earlier event.
void PhaseFollower::settle(uint64_t freed_ordinal, EventTime at) {
    Track& track = *lingering_;
    if (track.before_engine.erase(freed_ordinal) != 0) {
        return;
    }
    lingering_ = nullptr;
    track.before_engine.clear();
    if (!track.open.empty()) {
        close_top(track, at);
    }
}

void PhaseFollower::on_rare(const RareEvent& event, EventTime at) {
    settle_at(at);
    if (is_ended_) {
        return;
    }
    const auto fits = [](uint64_t thread, uint64_t text) {
        return thread <= UINT32_MAX && text <= UINT32_MAX;
    };
    if (const auto failed = event.as<format::OutOfMemory>()) {
        on_out_of_memory(failed->context, at);
    } else if (const auto scope = event.as<format::Scope>()) {
        if (fits(scope->thread, scope->name)) {
            on_scope(scope->action,
                     static_cast<uint32_t>(scope->thread),
                     static_cast<uint32_t>(scope->name),
                     at);
        }
    } else if (const auto mark = event.as<format::Mark>()) {
        if (fits(mark->thread, mark->text)) {
            on_mark(mark->kind,
                    static_cast<uint32_t>(mark->thread),
                    static_cast<uint32_t>(mark->text),
                    at);
        }
    }
}

void PhaseFollower::end_named(Track& track, uint32_t name, EventTime at) {
    if (!named_.end(track.named, name, at)) {
        named_.end(track_at(0).named, name, at);  // it was open at the start of the trace
    }
}

void PhaseFollower::on_mark(MarkKind kind, uint32_t thread, uint32_t name, EventTime at) {
    if (kind == MarkKind::kMainEnd) {
        end_main(at);
        return;
    }
    if (kind == MarkKind::kGraphBegin) {
        on_graph(track_at(thread));
        return;
    }
    is_tracing_ |= kind == MarkKind::kTracingStarted;
    named_.enter_region(track_at(thread).named, Region::kNone, at);
    if (kind == MarkKind::kStep) {
        steps_.on_mark(std::string(definitions_.text(name)), at);
    } else if (kind == MarkKind::kTracingStopped) {
        close_all(at);
    } else if (kind == MarkKind::kPhaseBegin) {
        named_.begin(track_at(thread).named, name, at);
    } else if (kind == MarkKind::kPhaseEnd) {
        end_named(track_at(thread), name, at);
    }
}

void PhaseFollower::on_scope(format::ScopeAction action,
                             uint32_t thread,
                             uint32_t name,
                             EventTime at) {
    const bool begins = action == format::ScopeAction::kBegin;
    const Phase phase = name < rules_.scopes.size() ? rules_.scopes[name] : Phase::kNamed;
    Track* track = &track_at(thread);
    if (phase == Phase::kBackward && !track->runs_python) {
        track = &engine_track(thread);  // one of the engine's own threads called the engine
    }
    if (phase == Phase::kNamed) {
        begins ? named_.begin(track->named, name, at) : end_named(*track, name, at);
    } else {
        begins ? begin_scope(*track, phase, name, at) : end_scope(*track, name, at);
    }
}

void PhaseFollower::close_all(EventTime at) {
    for (auto& [thread, track] : tracks_) {
        while (!track.open.empty()) {
            close_top(track, at);
        }
        end_run(track, false);
        track.engine_runs.clear();
        track.in_closure.clear();
    }
    engines_.clear();
}

void PhaseFollower::end_main(EventTime at) {
    settle_at(at);
    close_all(at);
    for (auto& [thread, track] : tracks_) {
        named_.end_all(track.named, at);
    }
    steps_.finish(at, &table_);
    is_ended_ = true;
}

PhaseTable PhaseFollower::finish(EventTime end) {
    if (!is_ended_) {
        end_main(end);
    }
    uint64_t most = 0;
    for (const auto& [thread, track] : tracks_) {
        if (track.training_phase_count > most) {
            most = track.training_phase_count;
            table_.main_thread = thread;
        }
    }
    table_.phases = without_removed(std::move(phases_));
    table_.named = named_.take();
    number_steps(&table_);
    return std::move(table_);
}

}  // namespace peakline::report
