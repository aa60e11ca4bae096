// Memory that torch.compile takes for itself, if it raises the peak: buffers and copies of
// autotuning.
#include <map>

#include "report/attribute/keys/categories.h"
#include "rules.h"

namespace peakline::report {
namespace {

class Compiling : public AdviceRule {
public:
    void see(const RunBlock& block) override {
        // A library keeps its workspace for the program's own calls.
        if (block.origin.category == category_name(Category::kWorkspace)) {
            return;
        }
        remove_block(block, &removed_);
        sums_.add(block);
        if (block.is_at_peak) {
            is_tuning_at_peak_ |= block.history.made_in == Phase::kAutotuning;
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        if (sums_.held_bytes() == 0) {
            return;
        }
        Proposal one;
        one.rule = "compiling_peak";
        one.title = "Compiling makes the peak";
        one.evidence = "torch.compile's own memory is live at the peak, and no later run needs it";
        if (is_tuning_at_peak_) {
            one.evidence =
                "torch.compile tries out kernels at the peak, and no later run needs that";
            one.change =
                "keep inductor's cache between runs (TORCHINDUCTOR_CACHE_DIR): it has the tuned "
                "kernels";
        }
        one.most = std::move(removed_);
        one.is_exact = true;
        sums_.describe(&one);
        proposals->push_back(std::move(one));
    }

private:
    LevelChanges removed_;
    BlockSums sums_;
    bool is_tuning_at_peak_ = false;
};

}  // namespace

std::unique_ptr<AdviceRule> make_compiling(const RunFacts&) {
    return std::make_unique<Compiling>();
}

}  // namespace peakline::report
