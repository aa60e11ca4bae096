#include "block_history.h"

namespace peakline::report {

BlockHistories::BlockHistories(const PhaseTable& table, const PhaseRules& rules)
    : table_(table), rules_(rules), phases_(table.phases), steps_(table.steps) {
    has_backward_.resize(table.steps.size());
    for (uint32_t i = 0; i < table.phases.size(); ++i) {
        const PhaseInterval& interval = table.phases[i];
        // An enclosing interval comes before its inner ones.
        const bool is_inner = interval.parent != kNoInterval;
        outermost_.push_back(is_inner ? outermost_[interval.parent] : i);
        steady_.push_back(is_inner && is_before_steady(interval.phase) ? steady_[interval.parent]
                                                                       : i);
        if (interval.phase == Phase::kBackward) {
            any_backward_ = true;
            if (interval.step.has_value()) {
                has_backward_[*interval.step - table.first_step] = true;
            }
        }
    }
}

// A free has no thread: search the thread that made the block, then the main training thread.
uint32_t BlockHistories::interval_at(uint32_t thread, uint64_t event) const {
    const uint32_t own = phases_.find(thread, event);
    const uint32_t found = own != kNoInterval ? own : phases_.find(table_.main_thread, event);
    return found != kNoInterval ? steady_[found] : kNoInterval;
}

// The last phase of a thread has no visible end. If the thread allocates no more, later phases of
// the main thread decide (the threads of DataParallel run the forward pass only).
uint32_t BlockHistories::interval_of_free(const BlockFacts& facts) const {
    const uint32_t own = interval_at(facts.track_thread, facts.free_event);
    if (facts.track_thread != table_.main_thread && own != kNoInterval &&
        facts.free_event > table_.phases[own].last_alloc_event) {
        const uint32_t main = phases_.find(table_.main_thread, facts.free_event);
        if (main != kNoInterval && table_.phases[main].begin_event > facts.alloc_event) {
            return steady_[main];
        }
    }
    return own;
}

std::optional<uint32_t> BlockHistories::step_at(uint64_t event) const {
    const uint32_t step = steps_.find(table_.main_thread, event);
    return step != kNoInterval ? table_.steps[step].step : std::nullopt;
}

bool BlockHistories::has_backward(std::optional<uint32_t> step) const {
    const bool is_kept = step.has_value() && *step >= table_.first_step &&
                         *step - table_.first_step < has_backward_.size();
    return is_kept ? has_backward_[*step - table_.first_step] : any_backward_;
}

std::optional<uint32_t> BlockHistories::made_step(const BlockFacts& facts) const {
    if (facts.is_restored) {
        return table_.counts_on() ? facts.earlier_step : std::nullopt;
    }
    return step_at(facts.alloc_event);
}

BlockHistory BlockHistories::of(const TrackedBlock& block) const {
    const BlockFacts& facts = block.facts;
    BlockHistory history;
    const uint32_t made =
        facts.is_restored ? kNoInterval : interval_at(facts.track_thread, facts.alloc_event);
    history.made_in = rules_.contexts[block.block.context].phase;
    if (history.made_in == Phase::kOther && made != kNoInterval) {
        history.made_in = table_.phases[made].phase;
    }
    history.made_step = made_step(facts);
    history.is_trained = has_backward(history.made_step);
    const bool knows_graph = table_.knows_graphs && made != kNoInterval;
    history.without_gradients = rules_.contexts[block.block.context].without_gradients;
    history.has_graph = (knows_graph ? outermost(made).has_graph : history.is_trained) &&
                        !history.without_gradients;
    history.is_trained = history.is_trained && (!knows_graph || history.has_graph);
    history.is_freed = facts.free_event != kNeverFreed;
    if (!history.is_freed) {
        const bool in_step = history.made_step.has_value() && !table_.steps.empty();
        history.steps_outlived = in_step ? *table_.steps.back().step - *history.made_step : 0;
        return history;
    }
    const uint32_t freed = interval_of_free(facts);
    history.freed_in = freed != kNoInterval ? table_.phases[freed].phase : Phase::kOther;
    history.freed_step = step_at(facts.free_event);
    history.after_work =
        freed == kNoInterval || facts.free_event > table_.phases[freed].last_alloc_event;
    history.within_phase = made != kNoInterval && freed == made;
    history.outlived_cut_pass =
        history.within_phase && history.after_work && outermost(made).is_cut;
    history.within_operator = facts.within_operator && history.within_phase;
    if (history.made_step.has_value() && history.freed_step.has_value()) {
        history.steps_outlived = *history.freed_step - *history.made_step;
    }
    return history;
}

}  // namespace peakline::report
