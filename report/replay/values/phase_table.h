// The phases of a trace as intervals of its events. Plain data: phase_replay fills it, views and
// render show it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "level_meter.h"
#include "phase.h"

namespace peakline::report {

inline constexpr uint32_t kNoInterval = UINT32_MAX;

struct PhaseInterval {
    Phase phase = Phase::kNone;
    std::string name;               // "forward", or the name that the program gave
    uint32_t thread = 0;            // id in the definitions; 0: unknown
    uint32_t parent = kNoInterval;  // index of the enclosing interval, in the same list
    uint32_t depth = 0;
    std::optional<uint32_t> step;
    uint64_t begin_event = 0;  // events are counted from 0
    uint64_t end_event = 0;    // the first event after it
    uint64_t last_alloc_event = 0;
    bool has_graph = false;  // made for a backward pass; see PhaseTable::knows_graphs
    bool is_cut = false;     // such a pass without its backward pass
    bool has_died = false;   // such a pass that ended because memory ran out
    uint64_t begin_tick = 0;
    uint64_t end_tick = 0;
    LevelUses uses;
    // The forward passes joined into this one, if there were several.
    std::vector<EventRange> parts;
};

// The origin of the steps of a trace.
enum class StepSource { kNone, kMarks, kOptimizer, kForward };

struct PhaseTable {
    std::vector<PhaseInterval> phases;  // found from stacks and torch's scopes, in order
    std::vector<PhaseInterval> named;   // named by the program
    std::vector<PhaseInterval> steps;   // in order; step first_step + N is steps[N]
    // Steps that ended before the first kept event, and their source.
    uint32_t earlier_steps = 0;
    StepSource earlier_source = StepSource::kNone;
    uint32_t first_step = 0;
    // Whether the numbers of earlier steps and of these steps are one sequence.
    bool counts_on() const { return steps.empty() || step_source == earlier_source; }
    StepSource step_source = StepSource::kNone;
    bool last_step_ended = true;
    bool knows_graphs = false;  // the trace records the beginnings of graphs
    uint32_t main_thread = 0;   // the thread with the phases of training
};

// Finds intervals by an event in them.
class IntervalIndex {
public:
    // `intervals` are sorted by their beginning.
    explicit IntervalIndex(const std::vector<PhaseInterval>& intervals);
    // The innermost interval of this thread; kNoInterval when there is none.
    uint32_t find(uint32_t thread, uint64_t event) const;

private:
    // The interval from this event to the next change of the thread.
    struct Change {
        uint64_t event = 0;
        uint32_t interval = kNoInterval;
    };
    std::map<uint32_t, std::vector<Change>> of_thread_;
};

// Returns the ranges of a phase: its name, "step", or either with "@N" for step N. Empty when there
// is none.
std::vector<EventRange> find_phase(const PhaseTable& table, const std::string& text);

}  // namespace peakline::report
