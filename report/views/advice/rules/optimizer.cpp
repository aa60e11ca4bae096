// What the step of the optimizer needs beside parameters and gradients.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "allocator/record/format/trace_format.h"
#include "attempts.h"
#include "rules.h"

namespace peakline::report {
namespace {

// torch's optimizers with a fused step.
constexpr std::array<std::string_view, 3> kFused = {"Adam", "AdamW", "SGD"};
// Of these the fused step counts on the device, in a tensor for each parameter.
constexpr std::array<std::string_view, 2> kCountOnDevice = {"Adam", "AdamW"};
constexpr uint64_t kSmallestBlock = 512;

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// "AdamW" of the scope "Optimizer.step#AdamW.step", of every optimizer that ran.
std::set<std::string> optimizer_names(const Definitions& definitions) {
    constexpr std::string_view kBegin = "Optimizer.step#";
    std::set<std::string> names;
    for (uint32_t id = 1; id <= definitions.strings.count(); ++id) {
        const std::string_view text = definitions.text(id);
        if (text.substr(0, kBegin.size()) == kBegin) {
            const std::string_view name = text.substr(kBegin.size());
            names.emplace(name.substr(0, name.find('.')));
        }
    }
    return names;
}

std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text.empty() ? "the optimizer" : text;
}

bool is_temporary_of_step(const RunBlock& block) {
    return block.history.made_in == Phase::kOptimizer && block.history.within_phase &&
           block.history.is_freed;
}

const PhaseInterval* first_step(const RunFacts& run) {
    for (const PhaseInterval* interval : run.outermost) {
        if (interval->phase == Phase::kOptimizer) {
            return interval;
        }
    }
    return nullptr;
}

class OptimizerLists : public AdviceRule {
public:
    explicit OptimizerLists(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        if (is_temporary_of_step(block)) {
            remove_block(block, &changes_);
            line_.add(block);
        } else if (const format::Tensor& tensor = run_.definitions.tensor(block.block.tensor);
                   tensor.kind == format::TensorKind::kOptimizerState) {
            const std::string_view detail = run_.definitions.text(tensor.detail);
            const bool is_count = detail.substr(detail.find('.') + 1) == "step";
            (is_count ? counted_ : with_state_).insert(tensor.name);
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        const std::set<std::string> names = optimizer_names(run_.definitions);
        const bool is_fused_known =
            !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
                return is_one_of(kFused, name);
            });
        Proposal one;
        one.rule = "optimizer_temporaries";
        one.title = joined(names) + " makes temporary tensors for all parameters at once";
        one.change = is_fused_known ? "pass fused=True (or foreach=False) to the optimizer"
                                    : "pass foreach=False to the optimizer";
        line_.describe(&one);
        one.most = std::move(changes_);
        one.is_exact = is_fused_known;
        one.is_open = !is_fused_known;
        one.attempt = is_fused_known ? attempts::kFused : attempts::kNoForeach;
        if (is_fused_known && is_one_of(kCountOnDevice, *names.begin()) && first_step(run_)) {
            const auto count = static_cast<int64_t>(with_state_.size() - counted_.size());
            one.most.push_back(
                {first_step(run_)->begin_event, count * static_cast<int64_t>(kSmallestBlock)});
        }
        if (line_.held_bytes() != 0) {
            proposals->push_back(std::move(one));
        }
    }

private:
    const RunFacts& run_;
    LevelChanges changes_;
    BlockSums line_;
    std::set<uint32_t> with_state_;  // names of parameters
    std::set<uint32_t> counted_;     // those of them whose step count lies on the device
};

class OptimizerState : public AdviceRule {
public:
    explicit OptimizerState(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        if (format::is_of_host(block.block.device)) {
            return;  // where it would be offloaded to
        }
        const bool is_state = block.origin.category == "optimizer state";
        if (is_state || is_temporary_of_step(block)) {
            remove_block(block, &changes_);
        }
        if (is_state) {
            line_.add(block);
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one;
        one.rule = "optimizer_state";
        one.title = "State of " + joined(optimizer_names(run_.definitions)) +
                    " stays on the device between its steps";
        one.change =
            "keep it in host memory (an offloading optimizer; this figure), or in 8 bits: about "
            "a quarter of it stays";
        line_.describe(&one);
        one.most = std::move(changes_);
        one.is_exact = true;
        if (line_.held_bytes() != 0) {
            proposals->push_back(std::move(one));
        }
    }

private:
    const RunFacts& run_;
    LevelChanges changes_;
    BlockSums line_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_optimizer_lists(const RunFacts& run) {
    return std::make_unique<OptimizerLists>(run);
}

std::unique_ptr<AdviceRule> make_optimizer_state(const RunFacts& run) {
    return std::make_unique<OptimizerState>(run);
}

}  // namespace peakline::report
