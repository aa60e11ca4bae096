#include "phase_follower.h"

#include <algorithm>
#include <utility>

#include "phase_steps.h"

namespace peakline::report {
namespace {

using format::MarkKind;

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
    nesting_.close_stack_derived(track, at);
    if (track.open.empty()) {
        nesting_.end_run(track, true);
    }
}

void PhaseFollower::enter_by_stack(Track& track, Phase phase, EventTime at) {
    if (phase == Phase::kForward || phase == Phase::kBackward) {
        nesting_.enter_closure(track, at);
    } else if (phase == Phase::kOptimizer && !track.in_closure.empty()) {
        nesting_.leave_closure(track, at);
    }
    if (is_before_steady(phase) && track.open.empty()) {
        // The phase around it: the pass that calls the compiled function.
        OpenPhase around;
        around.phase = Phase::kOther;
        nesting_.open_phase(track, around, at);
    }
    while (!track.open.empty()) {
        const OpenPhase& top = track.open.back();
        const bool is_of_compiler = is_before_steady(phase) && top.phase < phase;
        const bool is_inside = top.source == PhaseSource::kScope || is_of_compiler ||
                               (phase == Phase::kRecomputation && top.phase == Phase::kBackward);
        if (top.phase == phase || (phase == Phase::kOther && top.source == PhaseSource::kScope)) {
            return;
        }
        if (is_inside) {
            break;
        }
        nesting_.close_top(track, at);
    }
    OpenPhase open;
    open.phase = phase;
    nesting_.open_phase(track, open, at);
}

void PhaseFollower::begin_scope(Track& track, Phase phase, uint32_t name, EventTime at) {
    if (phase == Phase::kBackward || phase == Phase::kZeroGrad) {
        nesting_.enter_closure(track, at);
    }
    if (!track.open.empty() && track.open.back().source == PhaseSource::kStack &&
        track.open.back().phase == phase) {
        // The gradient of the loss was made just before the engine runs.
        track.open.back().source = PhaseSource::kScope;
        track.open.back().scope_name = name;
        track.scopes[name].push_back(track.open.size() - 1);
    } else {
        nesting_.close_stack_derived(track, at);
        OpenPhase open;
        open.phase = phase;
        open.source = PhaseSource::kScope;
        open.scope_name = name;
        nesting_.open_phase(track, open, at);
    }
    if (phase == Phase::kBackward) {
        track.engine_runs.push_back(engines_.size());
        engines_.push_back(&track);
    }
}

void PhaseFollower::end_scope(Track& track, uint32_t name, EventTime at) {
    if (!track.in_closure.empty() && track.in_closure.back() == name) {
        nesting_.leave_closure(track, at);
    }
    const auto found = track.scopes.find(name);
    if (found == track.scopes.end() || found->second.empty()) {
        return;  // the scope began before the traced range
    }
    const size_t keep = found->second.back();
    const bool was_engine = track.open[keep].phase == Phase::kBackward;
    while (track.open.size() > keep + 1) {
        nesting_.close_top(track, at);
    }
    if (was_engine && !track.before_engine.empty() && lingering_ == nullptr) {
        lingering_ = &track;
    } else {
        nesting_.close_top(track, at);
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
        nesting_.close_top(track, at);
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
        nesting_.steps().on_mark(std::string(definitions_.text(name)), at);
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
            nesting_.close_top(track, at);
        }
        nesting_.end_run(track, false);
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
    nesting_.steps().finish(at, &table_);
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
    table_.phases = without_removed(nesting_.take());
    table_.named = named_.take();
    number_steps(&table_);
    return std::move(table_);
}

}  // namespace peakline::report
