// Finds gradients that are live while nothing needs them.
#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>

#include "attempts.h"
#include "rules.h"

namespace peakline::report {
namespace {

using Intervals = std::vector<const PhaseInterval*>;

bool is_phase(const PhaseInterval* interval, Phase phase) {
    return interval->phase == phase;
}

bool lies_in(uint64_t event, const PhaseInterval& interval) {
    return interval.begin_event <= event && event < interval.end_event;
}

// A forward pass, then zero_grad(), then the backward pass: from the optimizer's step to
// zero_grad() the gradients are unused.
class LateZeroGrad : public AdviceRule {
public:
    explicit LateZeroGrad(const RunFacts& run) : run_(run) {
        const Intervals& intervals = run.outermost;
        const PhaseInterval* step = nullptr;
        for (size_t i = 0; i + 2 < intervals.size(); ++i) {
            step = is_phase(intervals[i], Phase::kOptimizer) ? intervals[i] : step;
            if (step != nullptr && is_phase(intervals[i], Phase::kForward) &&
                is_phase(intervals[i + 1], Phase::kZeroGrad) &&
                is_phase(intervals[i + 2], Phase::kBackward)) {
                late_.push_back({intervals[i + 1], step->end_event});
            }
        }
    }

    void see(const RunBlock& block) override {
        if (block.origin.category != "gradient") {
            return;
        }
        const auto after = std::upper_bound(
            late_.begin(),
            late_.end(),
            block.facts.free_event,
            [](uint64_t event, const Late& one) { return event < one.zero_grad->begin_event; });
        if (after == late_.begin()) {
            return;
        }
        const Late& late = *std::prev(after);
        if (lies_in(block.facts.free_event, *late.zero_grad) &&
            block.facts.alloc_event < late.step_end) {
            remove_between(late.step_end, block.facts.free_event, block.bytes, &changes_);
            line_.add(block);
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one;
        one.rule = "zero_grad_late";
        one.title = "Gradients of the step before are live through the forward pass";
        one.change = "call zero_grad() directly after the optimizer's step()";
        one.evidence = "zero_grad() was called after a forward pass";
        line_.describe(&one);
        if (const Label* const call =
                late_.empty() ? nullptr : run_.caller_of(*late_[0].zero_grad)) {
            one.line = *call;
        }
        one.most = std::move(changes_);
        one.is_exact = true;
        one.attempt = attempts::kZeroGradEarly;
        proposals->push_back(std::move(one));
    }

private:
    struct Late {
        const PhaseInterval* zero_grad;
        uint64_t step_end;  // the gradients are unused from here on
    };
    const RunFacts& run_;
    std::vector<Late> late_;
    LevelChanges changes_;
    BlockSums line_;
};

// Gradients that zero_grad() fills with zeros. Without them the backward pass makes new ones: the
// blocks that it adds to the old ones today would stay as the gradients.
class KeptGradients : public AdviceRule {
public:
    explicit KeptGradients(const RunFacts& run) : run_(run) {
        for (size_t i = 0; i < run.outermost.size(); ++i) {
            if (is_phase(run.outermost[i], Phase::kZeroGrad)) {
                zeroed_.push_back(i);
            }
        }
    }

    void see(const RunBlock& block) override {
        if (zeroed_.empty()) {
            return;
        }
        const auto kind = run_.definitions.tensor(block.block.tensor).kind;
        if (kind == format::TensorKind::kGradient || block.origin.category == "gradient") {
            sets_to_none_ |= block.history.is_freed && block.history.freed_in == Phase::kZeroGrad;
            see_gradient(block);
        } else if (block.history.made_in == Phase::kBackward && block.history.within_phase) {
            addends_[key_of(block)].push_back({block.facts.alloc_event, block.facts.free_event});
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        // Then the gradients that stay belong to another optimizer.
        if (sets_to_none_) {
            return;
        }
        Proposal one;
        one.rule = "zero_grad_keeps";
        one.title = "zero_grad(set_to_none=False) keeps gradients that hold nothing but zeros";
        one.change = "call zero_grad() without set_to_none=False";
        one.evidence = "zero_grad() ran, and the gradients stayed live after it";
        for (const Kept& kept : gradients_) {
            for (const size_t at : zeroed_) {
                const PhaseInterval& zero = *run_.outermost[at];
                if (kept.alloc_event < zero.begin_event && kept.free_event >= zero.end_event) {
                    remove_until_backward(kept, at, &one);
                }
            }
        }
        line_.describe(&one);
        if (const Label* const call =
                zeroed_.empty() ? nullptr : run_.caller_of(*run_.outermost[zeroed_[0]])) {
            one.line = *call;
        }
        one.attempt = attempts::kSetToNone;
        proposals->push_back(std::move(one));
    }

private:
    // Identifies a parameter as far as the trace shows: its module and its size.
    using Key = std::tuple<std::string, uint64_t>;
    struct Kept {
        Key key;
        uint64_t alloc_event;
        uint64_t free_event;
        uint64_t bytes;
    };
    struct Addend {
        uint64_t alloc_event;
        uint64_t free_event;
        bool is_taken = false;
    };

    static Key key_of(const RunBlock& block) {
        return {block.origin.module, block.block.requested_bytes};
    }

    void see_gradient(const RunBlock& block) {
        const auto crosses = [&](size_t at) {
            return block.facts.alloc_event < run_.outermost[at]->begin_event &&
                   block.facts.free_event >= run_.outermost[at]->end_event;
        };
        if (std::any_of(zeroed_.begin(), zeroed_.end(), crosses)) {
            gradients_.push_back(
                {key_of(block), block.facts.alloc_event, block.facts.free_event, block.bytes});
            line_.add(block);
        }
    }

    const PhaseInterval* backward_after(size_t at) const {
        for (size_t i = at + 1; i < run_.outermost.size(); ++i) {
            if (is_phase(run_.outermost[i], Phase::kBackward)) {
                return run_.outermost[i];
            }
        }
        return nullptr;
    }

    // The last block of this size that the pass makes and frees for this module: the addend.
    Addend* addend_of(const Kept& kept, const PhaseInterval& backward) {
        const auto found = addends_.find(kept.key);
        if (found == addends_.end()) {
            return nullptr;
        }
        std::vector<Addend>& all = found->second;
        for (size_t i = all.size(); i-- > 0;) {
            if (!all[i].is_taken && lies_in(all[i].alloc_event, backward)) {
                all[i].is_taken = true;
                return &all[i];
            }
        }
        return nullptr;
    }

    void remove_until_backward(const Kept& kept, size_t zeroed, Proposal* one) {
        const uint64_t begin = run_.outermost[zeroed]->begin_event;
        const PhaseInterval* const backward = backward_after(zeroed);
        if (backward == nullptr) {
            remove_between(begin, kept.free_event, kept.bytes, &one->most);
            remove_between(begin, kept.free_event, kept.bytes, &one->least);
            return;
        }
        const Addend* const addend = addend_of(kept, *backward);
        const uint64_t least_end = addend != nullptr ? addend->free_event : backward->begin_event;
        const uint64_t most_end = addend != nullptr ? addend->free_event : backward->end_event;
        remove_between(begin, std::min(most_end, kept.free_event), kept.bytes, &one->most);
        remove_between(begin, std::min(least_end, kept.free_event), kept.bytes, &one->least);
    }

    bool sets_to_none_ = false;  // zero_grad() frees gradients
    const RunFacts& run_;
    std::vector<size_t> zeroed_;  // indices in run_.outermost
    std::vector<Kept> gradients_;
    std::map<Key, std::vector<Addend>> addends_;
    BlockSums line_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_late_zero_grad(const RunFacts& run) {
    return std::make_unique<LateZeroGrad>(run);
}

std::unique_ptr<AdviceRule> make_kept_gradients(const RunFacts& run) {
    return std::make_unique<KeptGradients>(run);
}

}  // namespace peakline::report
