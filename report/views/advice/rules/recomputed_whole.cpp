// Finds one checkpoint over many layers: its backward pass makes all their activations again at
// once.
#include <map>
#include <set>

#include "rules.h"

namespace peakline::report {
namespace {

class RecomputedWhole : public AdviceRule {
public:
    explicit RecomputedWhole(const RunFacts& run) : run_(run) {
        for (const PhaseInterval& interval : run.phases.phases) {
            if (interval.phase == Phase::kRecomputation && interval.begin_event <= run.peak.event) {
                at_peak_ = &interval;
            }
        }
    }

    void see(const RunBlock& block) override {
        if (at_peak_ == nullptr || !block.is_at_peak ||
            block.history.made_in != Phase::kRecomputation ||
            block.facts.alloc_event < at_peak_->begin_event ||
            block.facts.alloc_event >= at_peak_->end_event) {
            return;
        }
        sums_.add(block);
        modules_.insert(block.origin.module);
    }

    void propose(std::vector<Proposal>* proposals) override {
        if (modules_.size() < kLeastModules) {
            return;
        }
        Proposal one;
        one.rule = "checkpoint_too_large";
        one.title = "One checkpoint recomputes the activations of many modules at once";
        one.change = "checkpoint smaller parts: each layer by itself, or groups of a few";
        one.evidence = "live at the peak: blocks that one recomputation made in " +
                       std::to_string(modules_.size()) + " modules";
        sums_.describe(&one);
        one.is_open = true;
        proposals->push_back(std::move(one));
    }

private:
    // One layer has a few: attention, two matrices, norms.
    static constexpr size_t kLeastModules = 12;
    const RunFacts& run_;
    const PhaseInterval* at_peak_ = nullptr;  // the last one that began before the peak
    std::set<std::string> modules_;
    BlockSums sums_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_recomputed_whole(const RunFacts& run) {
    return std::make_unique<RecomputedWhole>(run);
}

}  // namespace peakline::report
