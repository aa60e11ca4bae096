// Derives the phases of a program from the order of allocations and marks, event by event.
//
// Each thread has a track: nested phases, opened by torch's scopes (a step of the optimizer, a run
// of the autograd engine, a batch of a loader) or, without a scope, by the first allocation with
// such a stack. Allocations of the autograd engine's threads belong to the track of the thread that
// runs the engine.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "named_follower.h"
#include "phase_nesting.h"
#include "report/replay/values/level_meter.h"
#include "report/replay/values/phase_table.h"
#include "report/trace/definitions/definitions.h"
#include "report/trace/events/event_decoder.h"
#include "report/trace/summary/checkpoint.h"

namespace peakline::report {

class PhaseFollower {
public:
    // All must outlive the follower.
    PhaseFollower(const Definitions& definitions, const PhaseRules& rules, LevelMeter& meter)
        : definitions_(definitions), rules_(rules), nesting_(meter), named_(definitions, meter) {}

    // Call it before the allocation is metered. Returns the thread of its track.
    uint32_t on_alloc(uint32_t context, uint64_t ordinal, EventTime at) {
        settle_at(at);
        if (context >= rules_.contexts.size()) {
            return 0;
        }
        const ContextPhase& facts = rules_.contexts[context];
        // Blocks that are live when a trace is opened are written first, with the stacks that made
        // them.
        if (is_ended_ || !is_tracing_) {
            return facts.thread;
        }
        Track& track = track_of(facts);
        if (facts.region != track.named.region) {
            named_.enter_region(track.named, facts.region, at);
        }
        if (facts.phase != Phase::kNone && facts.phase != track.top_phase) {
            enter_by_stack(track, facts.phase, at);
        }
        if (!track.open.empty()) {
            if (facts.phase == Phase::kForward && PhaseNesting::is_lone_forward(track) &&
                track.repeated.may_begin_with(context)) {
                nesting_.split_forward(track, at);
            }
            const OpenPhase& top = track.open.back();
            if (top.phase == Phase::kBackward && top.source == PhaseSource::kStack &&
                !facts.in_autograd) {
                track.before_engine.insert(ordinal);
            }
            nesting_.innermost(track).last_alloc_event = at.event;
            // The compiler traces graphs of its own.
            nesting_.outermost(track).has_graph |=
                track.has_graph && !facts.without_gradients && !is_compiling(facts.phase);
        }
        return track.thread;
    }
    // Call it before each free is metered.
    void on_free(uint64_t ordinal, EventTime at) {
        if (lingering_ != nullptr) {
            settle(ordinal, at);
        }
    }
    void on_rare(const RareEvent& event, EventTime at);
    // The trace begins while tracing is on.
    void restore_tracing() { is_tracing_ = true; }
    // The steps that ended before the start of the trace.
    void restore_steps(const Checkpoint& checkpoint) {
        table_.earlier_steps = static_cast<uint32_t>(checkpoint.earlier_step_count());
        table_.earlier_source = !checkpoint.steps               ? StepSource::kNone
                                : checkpoint.steps->has_marks() ? StepSource::kMarks
                                                                : StepSource::kOptimizer;
        if (checkpoint.steps && checkpoint.steps->may_go_on) {
            nesting_.steps().continue_earlier_step();
        }
    }
    // A region that was open at the start of the trace; its thread is unknown.
    void restore_named(uint32_t name, EventTime at) { named_.begin(track_at(0).named, name, at); }

    PhaseTable finish(EventTime end);

private:
    using Track = PhaseTrack;
    static constexpr uint64_t kNoOrdinal = UINT64_MAX;

    void on_mark(format::MarkKind kind, uint32_t thread, uint32_t name, EventTime at);
    void on_scope(format::ScopeAction action, uint32_t thread, uint32_t name, EventTime at);
    Track& track_at(uint32_t thread);
    Track& track_of(const ContextPhase& facts);
    Track& engine_track(uint32_t thread);

    void enter_by_stack(Track& track, Phase phase, EventTime at);
    void begin_scope(Track& track, Phase phase, uint32_t name, EventTime at);
    void end_scope(Track& track, uint32_t name, EventTime at);
    void close_all(EventTime at);
    // Ends everything open; later events are in no phase.
    void end_main(EventTime at);
    void on_graph(Track& track);
    void on_out_of_memory(uint64_t context, EventTime at);
    void end_engine(Track& track);
    void end_named(Track& track, uint32_t name, EventTime at);
    void settle(uint64_t freed_ordinal, EventTime at);
    void settle_at(EventTime at) {
        if (lingering_ != nullptr) {
            settle(kNoOrdinal, at);
        }
    }

    const Definitions& definitions_;
    const PhaseRules& rules_;
    PhaseNesting nesting_;
    NamedFollower named_;
    std::map<uint32_t, Track> tracks_;
    Track* current_ = nullptr;    // track of the latest allocation outside of the engine
    Track* lingering_ = nullptr;  // its engine has returned, but not yet backward()
    // Tracks that run the engine, the latest last; nullptr: it has ended before the last.
    std::vector<Track*> engines_;
    PhaseTable table_;
    bool is_tracing_ = false;
    bool is_ended_ = false;
};

}  // namespace peakline::report
