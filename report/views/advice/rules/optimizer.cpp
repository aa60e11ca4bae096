// Finds memory that the optimizer's step needs besides parameters and gradients.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "allocator/record/format/trace_format.h"
#include "attempts.h"
#include "report/replay/allocator_model/allocator_settings.h"
#include "rules.h"

namespace peakline::report {
namespace {

// torch's optimizers with a fused step.
constexpr std::array<std::string_view, 3> kFused = {"Adam", "AdamW", "SGD"};
// The fused steps of these count on the device, in a tensor for each parameter.
constexpr std::array<std::string_view, 2> kCountOnDevice = {"Adam", "AdamW"};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns "AdamW" from the scope "Optimizer.step#AdamW.step", for every optimizer that ran.
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

// Bytes of a floating-point value; 0: another dtype.
uint64_t float_bytes(std::string_view dtype) {
    constexpr std::array<std::pair<std::string_view, uint64_t>, 4> kWidths = {
        {{"float64", 8}, {"float32", 4}, {"float16", 2}, {"bfloat16", 2}}};
    for (const auto& [name, bytes] : kWidths) {
        if (name == dtype) {
            return bytes;
        }
    }
    return 0;
}

// The size of a state in 8 bits: a byte for each value and a float32 for each 256 of them. Small
// tensors and other dtypes stay as they are, as in the libraries that do this. nullopt: the content
// of the block is unknown.
std::optional<uint64_t> bytes_in_8_bits(const RunBlock& block, const RunFacts& run) {
    constexpr uint64_t kLeastCount = 4096;
    constexpr uint64_t kValuesOfScale = 256;
    const TensorType& type = run.definitions.tensor_type(block.type);
    if (type.dtype == 0) {
        return std::nullopt;
    }
    const uint64_t width = float_bytes(run.definitions.text(type.dtype));
    if (width == 0) {
        return block.bytes;
    }
    uint64_t count = 1;
    for (const uint64_t size : type.shape) {
        if (size > kMaxBlockBytes || __builtin_mul_overflow(count, size, &count)) {
            return std::nullopt;
        }
    }
    if (count > kMaxBlockBytes || count * width != block.block.requested_bytes) {
        return std::nullopt;  // a part of the block
    }
    const auto block_of = [&run](uint64_t bytes) {
        return run.measure == format::Measure::kRequested ? bytes : in_least_blocks(bytes);
    };
    const uint64_t scales = (count + kValuesOfScale - 1) / kValuesOfScale * sizeof(float);
    return count < kLeastCount ? block.bytes : block_of(count) + block_of(scales);
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
        one.evidence = "made and freed within a step of the optimizer";
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
                {first_step(run_)->begin_event, count * static_cast<int64_t>(kLeastBlockBytes)});
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
    std::set<uint32_t> counted_;     // those with a step count on the device
};

class OptimizerState : public AdviceRule {
public:
    explicit OptimizerState(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        if (format::is_of_host(block.block.device)) {
            return;  // the target of offloading
        }
        const bool is_state = block.origin.category == "optimizer state";
        if (is_state || is_temporary_of_step(block)) {
            remove_block(block, &changes_);
        }
        if (is_state) {
            line_.add(block);
            add_in_8_bits(block);
        } else if (is_temporary_of_step(block)) {
            remove_block(block, &in_8_bits_);
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one;
        one.rule = "optimizer_state";
        one.evidence = "blocks of its state, live outside of its steps";
        const std::string names = joined(optimizer_names(run_.definitions));
        one.title = "State of " + names + " stays on the device between its steps";
        one.change = all_are_known_ ? "keep it in host memory: an offloading optimizer"
                                    : "keep it in host memory (an offloading optimizer; this "
                                      "figure), or in 8 bits: about a quarter of it stays";
        line_.describe(&one);
        one.most = std::move(changes_);
        one.is_exact = true;
        if (line_.held_bytes() == 0) {
            return;
        }
        proposals->push_back(std::move(one));
        if (all_are_known_ && shrinks_) {
            propose_8_bits(names, proposals);
        }
    }

private:
    void add_in_8_bits(const RunBlock& block) {
        const std::optional<uint64_t> bytes = bytes_in_8_bits(block, run_);
        all_are_known_ = all_are_known_ && bytes.has_value();
        const uint64_t spared = block.bytes - std::min(block.bytes, bytes.value_or(block.bytes));
        if (spared != 0) {
            shrinks_ = true;
            remove_between(block.facts.alloc_event, block.facts.free_event, spared, &in_8_bits_);
        }
    }

    void propose_8_bits(const std::string& names, std::vector<Proposal>* proposals) {
        Proposal one;
        one.rule = "optimizer_state_8bit";
        one.evidence = "sizes of its state against those of the parameters";
        one.title = "State of " + names + " has 16 bits a value or more";
        one.change =
            "an optimizer with 8-bit state (this figure: a byte for each value, a scale for each "
            "256 of them)";
        line_.describe(&one);
        one.most = std::move(in_8_bits_);
        one.is_exact = true;
        proposals->push_back(std::move(one));
    }

    const RunFacts& run_;
    LevelChanges changes_;
    LevelChanges in_8_bits_;
    BlockSums line_;
    bool all_are_known_ = true;  // parts of the state
    bool shrinks_ = false;
};

}  // namespace

std::unique_ptr<AdviceRule> make_optimizer_lists(const RunFacts& run) {
    return std::make_unique<OptimizerLists>(run);
}

std::unique_ptr<AdviceRule> make_optimizer_state(const RunFacts& run) {
    return std::make_unique<OptimizerState>(run);
}

}  // namespace peakline::report
