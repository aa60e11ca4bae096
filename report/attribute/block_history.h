// The life of a block in terms of a training run: the phase and step in which it was made and
// freed. For keys that need more than the context of an allocation.
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
    bool within_phase = false;  // freed before the end of the phase that made it
    // Freed after the last allocation of its phase: with a result that is dropped.
    bool after_work = false;
    bool outlived_cut_pass = false;  // freed with the leftovers of a pass that died
    uint32_t steps_outlived = 0;
    bool is_trained = false;  // made in a step with a backward pass
    bool has_graph = false;   // made in a pass for a backward pass, as far as the trace shows
    // Whether gradients were off when its stack was first seen; false in a trace without this.
    bool without_gradients = false;
};

// Computes the histories of blocks; one object serves one trace.
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
    // By interval of table_.phases. Phases of the compiler count as part of the one around them.
    std::vector<uint32_t> steady_;
    std::vector<uint32_t> outermost_;
    std::vector<bool> has_backward_;  // by step
    bool any_backward_ = false;
};

}  // namespace peakline::report
