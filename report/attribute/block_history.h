// The life of a block in the words of a training run: in which phase of which step it was made and
// freed. For the keys that need more than the place of an allocation.
#pragma once

#include <cstdint>
#include <optional>

#include "report/replay/values/replay_result.h"

namespace peakline::report {

struct BlockHistory {
    Phase made_in = Phase::kNone;
    std::optional<uint32_t> made_step;
    bool is_freed = false;
    Phase freed_in = Phase::kNone;  // kOther between the phases
    std::optional<uint32_t> freed_step;
    bool within_operator = false;
    bool within_phase = false;  // freed before the phase ended in which it was made
    // Freed when its phase had nothing more to allocate: with a result that is let go.
    bool after_work = false;
    bool outlived_cut_pass = false;  // freed with what a pass left that died
    uint32_t steps_outlived = 0;
    bool is_trained = false;  // made in a step with a backward pass
    bool has_graph = false;   // made in a pass for a backward pass, as far as the trace says
    // Where its stack was first seen; false in a trace that does not say.
    bool without_gradients = false;
};

// Looks them up; one object serves one trace.
class BlockHistories {
public:
    // Both must outlive this.
    BlockHistories(const PhaseTable& table, const PhaseRules& rules);
    BlockHistory of(const TrackedBlock& block) const;
    StepSource step_source() const { return table_.step_source; }

private:
    uint32_t interval_at(uint32_t thread, uint64_t event) const;
    uint32_t interval_of_free(const BlockFacts& facts) const;
    std::optional<uint32_t> step_at(uint64_t event) const;
    std::optional<uint32_t> made_step(const BlockFacts& facts) const;
    bool has_backward(std::optional<uint32_t> step) const;
    const PhaseInterval& outermost(uint32_t interval) const {
        return table_.phases[outermost_[interval]];
    }

    const PhaseTable& table_;
    const PhaseRules& rules_;
    IntervalIndex phases_;
    IntervalIndex steps_;
    std::vector<uint32_t> outermost_;  // by interval of table_.phases
    std::vector<bool> has_backward_;   // by step
    bool any_backward_ = false;
};

}  // namespace peakline::report
