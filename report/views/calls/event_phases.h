// Finds the step and the phase of an event.
#pragma once

#include <cstdint>
#include <optional>

#include "report/replay/values/phase_table.h"

namespace peakline::report {

class EventPhases {
public:
    // `table` must outlive it.
    explicit EventPhases(const PhaseTable& table)
        : table_(table), phases_(table.phases), steps_(table.steps) {}

    std::optional<uint32_t> step(uint64_t event) const {
        const uint32_t step = steps_.find(table_.main_thread, event);
        return step != kNoInterval ? table_.steps[step].step : std::nullopt;
    }
    // The phase from the stack; if it has none, the phase that ran at the event.
    Phase phase(Phase of_stack, uint64_t event) const {
        if (of_stack != Phase::kOther && of_stack != Phase::kNone) {
            return of_stack;
        }
        const uint32_t interval = phases_.find(table_.main_thread, event);
        return interval != kNoInterval ? table_.phases[interval].phase : of_stack;
    }

private:
    const PhaseTable& table_;
    IntervalIndex phases_;
    IntervalIndex steps_;
};

// Whether a phase belongs to training itself: not inside another, not of another thread.
inline bool is_main(const PhaseTable& table, const PhaseInterval& interval) {
    return interval.depth == 0 && interval.thread == table.main_thread;
}

}  // namespace peakline::report
