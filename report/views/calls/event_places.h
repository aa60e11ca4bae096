// Looks up the step and the phase that an event lies in.
#pragma once

#include <cstdint>
#include <optional>

#include "report/replay/values/phase_table.h"

namespace peakline::report {

class EventPlaces {
public:
    // `table` must outlive it.
    explicit EventPlaces(const PhaseTable& table)
        : table_(table), phases_(table.phases), steps_(table.steps) {}

    std::optional<uint32_t> step(uint64_t event) const {
        const uint32_t step = steps_.find(table_.main_thread, event);
        return step != kNoInterval ? table_.steps[step].step : std::nullopt;
    }
    // What the stack says; where that is nothing, what the program was doing.
    Phase phase(Phase said, uint64_t event) const {
        if (said != Phase::kOther && said != Phase::kNone) {
            return said;
        }
        const uint32_t interval = phases_.find(table_.main_thread, event);
        return interval != kNoInterval ? table_.phases[interval].phase : said;
    }

private:
    const PhaseTable& table_;
    IntervalIndex phases_;
    IntervalIndex steps_;
};

// A phase of training itself, not one within another or of another thread.
inline bool is_main(const PhaseTable& table, const PhaseInterval& interval) {
    return interval.depth == 0 && interval.thread == table.main_thread;
}

}  // namespace peakline::report
