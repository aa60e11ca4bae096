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
    std::string name;               // "forward", or what the program called it
    uint32_t thread = 0;            // id in the definitions; 0: unknown
    uint32_t parent = kNoInterval;  // index of the interval around it, of the same list
    uint32_t depth = 0;
    std::optional<uint32_t> step;
    uint64_t begin_event = 0;  // events are counted from 0
    uint64_t end_event = 0;    // the first one after it
    uint64_t last_alloc_event = 0;
    bool has_graph = false;  // made for a backward pass; see PhaseTable::knows_graphs
    bool is_cut = false;     // such a pass, without its backward pass
    bool has_died = false;   // such a pass, since memory ran out
    uint64_t begin_tick = 0;
    uint64_t end_tick = 0;
    LevelUses uses;
    // The forward passes that it was joined from, where there are several.
    std::vector<EventRange> parts;
};

// Where the steps of a trace come from.
enum class StepSource { kNone, kMarks, kOptimizer, kForward };

struct PhaseTable {
    std::vector<PhaseInterval> phases;  // found from stacks and torch's scopes, in order
    std::vector<PhaseInterval> named;   // of the program's own making
    std::vector<PhaseInterval> steps;   // in order; step first_step + N is steps[N]
    // Steps that ended before the events of a trace which keeps less than all, and what they were.
    uint32_t earlier_steps = 0;
    StepSource earlier_source = StepSource::kNone;
    uint32_t first_step = 0;
    // Whether steps before the events and among them are numbered as one row.
    bool counts_on() const { return steps.empty() || step_source == earlier_source; }
    StepSource step_source = StepSource::kNone;
    bool last_step_ended = true;
    bool knows_graphs = false;  // the trace says where graphs begin
    uint32_t main_thread = 0;   // of the phases of training
};

// Finds intervals by the event that lies in them.
class IntervalIndex {
public:
    // `intervals` are in order of their begin.
    explicit IntervalIndex(const std::vector<PhaseInterval>& intervals);
    // The innermost one of this thread; kNoInterval when there is none.
    uint32_t find(uint32_t thread, uint64_t event) const;

private:
    // From this event on, until the next change of the thread.
    struct Change {
        uint64_t event = 0;
        uint32_t interval = kNoInterval;
    };
    std::map<uint32_t, std::vector<Change>> of_thread_;
};

// Where a phase is: its name, "step", or either with "@N" for the one of step N. Empty when there
// is none.
std::vector<EventRange> find_phase(const PhaseTable& table, const std::string& text);

}  // namespace peakline::report
