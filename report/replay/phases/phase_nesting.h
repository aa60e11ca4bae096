// The nested phases of each thread as intervals: opens and closes them, joins what belongs to one
// forward pass, and leaves an optimizer while it runs its closure. phase_follower.h decides which
// phase an event begins or ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "forward_run.h"
#include "named_follower.h"
#include "repeated_passes.h"
#include "report/replay/values/level_meter.h"
#include "report/replay/values/phase_table.h"
#include "step_follower.h"

namespace peakline::report {

// Phases are opened by an allocation with such a stack, or by a scope of torch.
enum class PhaseSource : unsigned char { kStack, kScope };

struct OpenPhase {
    uint32_t interval = 0;
    Phase phase = Phase::kNone;
    PhaseSource source = PhaseSource::kStack;
    uint32_t scope_name = 0;  // string id
    LevelMeter::Window window;
};

// One thread.
struct PhaseTrack {
    uint32_t thread = 0;
    // it allocates outside of the engine, so it is no thread of the engine
    bool runs_python = false;
    Phase top_phase = Phase::kNone;
    std::vector<OpenPhase> open;
    NamedFollower::Track named;
    ForwardRun run;
    RepeatedPasses repeated;
    bool has_graph = false;  // nodes were made since the last backward pass
    // Blocks that backward() made before it called the engine: the gradient of the loss.
    std::unordered_set<uint64_t> before_engine;
    // Open scopes by string id, and runs of the engine: slots in `open` and in engines_, the
    // latest last.
    std::unordered_map<uint32_t, std::vector<size_t>> scopes;
    std::vector<size_t> engine_runs;
    // Optimizers that run their closure: string ids of their scopes, the outermost first.
    std::vector<uint32_t> in_closure;
    uint64_t training_phase_count = 0;
};

class PhaseNesting {
public:
    explicit PhaseNesting(LevelMeter& meter) : meter_(meter), steps_(meter) {}

    void open_phase(PhaseTrack& track, OpenPhase open, EventTime at);
    void close_top(PhaseTrack& track, EventTime at);
    void close_stack_derived(PhaseTrack& track, EventTime at);
    // The same phase again: another pass begins.
    void split_forward(PhaseTrack& track, EventTime at);
    void enter_closure(PhaseTrack& track, EventTime at);
    void leave_closure(PhaseTrack& track, EventTime at);
    // No backward pass follows the forward passes so far.
    void end_run(PhaseTrack& track, bool has_died);

    static bool is_lone_forward(const PhaseTrack& track) {
        return track.open.size() == 1 && track.top_phase == Phase::kForward &&
               track.open.back().source == PhaseSource::kStack;
    }
    // Both need a track with an open phase.
    PhaseInterval& innermost(const PhaseTrack& track) {
        return phases_[track.open.back().interval];
    }
    PhaseInterval& outermost(const PhaseTrack& track) {
        return phases_[track.open.front().interval];
    }
    StepFollower& steps() { return steps_; }
    // All intervals, in the order of their begins.
    std::vector<PhaseInterval> take() { return std::move(phases_); }

private:
    uint32_t close_interval(PhaseTrack& track, EventTime at);

    LevelMeter& meter_;
    StepFollower steps_;
    std::vector<PhaseInterval> phases_;
};

}  // namespace peakline::report
