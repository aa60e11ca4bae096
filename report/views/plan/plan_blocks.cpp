#include "plan_blocks.h"

#include <algorithm>
#include <utility>

#include "report/views/advice/rules/attempts.h"
#include "report/views/advice/rules/rules.h"

namespace peakline::report {
namespace {

constexpr MakeRule* kFreeRules[] = {make_late_zero_grad, make_kept_gradients, make_optimizer_lists};
constexpr MakeRule* kEditRules[] = {make_optimizer_state, make_whole_logits};

using Rules = std::vector<std::unique_ptr<AdviceRule>>;

std::vector<Proposal> proposals_of(const Rules& rules) {
    std::vector<Proposal> all;
    for (const auto& rule : rules) {
        rule->propose(&all);
    }
    return all;
}

}  // namespace

PlanBlocks::PlanBlocks(const RunFacts& run) : run_(run), runs_(run), flops_(run.definitions) {
    for (MakeRule* const make : kFreeRules) {
        rules_.push_back(make(run));
    }
    for (MakeRule* const make : kEditRules) {
        edit_rules_.push_back(make(run));
    }
}

void PlanBlocks::see(const RunBlock& block) {
    if (is_compiling(block.history.made_in)) {
        return;
    }
    runs_.see(block);
    flops_.see(block);
    for (const auto& rule : rules_) {
        rule->see(block);
    }
    for (const auto& rule : edit_rules_) {
        rule->see(block);
    }
    if (block.history.made_in == Phase::kForward && block.history.has_graph) {
        pass_flops_.see(block, flops_, run_.pass_at(block.facts.alloc_event));
    }
    if (block.origin.category == "gradient") {
        gradients_[{block.origin.module, run_.pass_at(block.facts.alloc_event)}] += block.bytes;
    }
    blocks_.push_back({block.facts.alloc_event,
                       block.facts.free_event,
                       static_cast<int64_t>(block.bytes),
                       block.history.made_in,
                       &block.origin});
}

std::vector<Proposal> PlanBlocks::free_changes() {
    std::vector<Proposal> all = proposals_of(rules_);
    std::erase_if(all, [](const Proposal& one) { return one.attempt.empty() || one.is_open; });
    return all;
}

std::vector<Proposal> PlanBlocks::edits() {
    std::vector<Proposal> all = proposals_of(edit_rules_);
    std::erase_if(all, [](const Proposal& one) { return one.is_open || one.most.empty(); });
    return all;
}

uint64_t PlanBlocks::largest_gradients() const {
    uint64_t most = 0;
    for (const auto& [module, bytes] : gradients_) {
        most = std::max(most, bytes);
    }
    return most;
}

std::vector<StepBlock> PlanBlocks::of_step(EventRange step,
                                           const std::vector<std::string>& layers) const {
    std::map<std::string, size_t> numbers;
    for (size_t i = 0; i < layers.size(); ++i) {
        numbers[layers[i]] = i;
    }
    std::vector<StepBlock> found;
    for (const Seen& seen : blocks_) {
        if (seen.alloc_event >= step.end || seen.free_event < step.begin) {
            continue;
        }
        const auto name = layer_of(seen.origin->module);
        const auto number = name.has_value() ? numbers.find(name->layer) : numbers.end();
        found.push_back({seen.alloc_event,
                         seen.free_event,
                         seen.bytes,
                         number == numbers.end() ? kNoLayer : number->second,
                         seen.made_in,
                         seen.origin->module,
                         seen.origin->op});
    }
    return found;
}

std::map<std::string, uint64_t> PlanBlocks::categories_at(uint64_t event) const {
    std::map<std::string, uint64_t> sums;
    for (const Seen& seen : blocks_) {
        if (seen.alloc_event <= event && event < seen.free_event) {
            sums[seen.origin->category] += static_cast<uint64_t>(seen.bytes);
        }
    }
    return sums;
}

PlanRecording::PlanRecording(const TraceReader& reader,
                             const Selection& selection,
                             StackLookup& stacks,
                             const Progress& progress)
    : run(reader, selection, stacks, progress), blocks(run.facts()) {
    run.follow_blocks(progress, [this](const RunBlock& block) { blocks.see(block); });
    blocks.finish();
}

std::optional<EventRange> PlanRecording::last_step() const {
    const RunFacts& facts = run.facts();
    if (facts.passes.empty() || facts.phases.steps.empty()) {
        return std::nullopt;
    }
    uint64_t last = 0;
    for (const LayerFamily& family : blocks.families()) {
        last = std::max(last, family.runs.back()->begin_event());
    }
    const PhaseInterval* const step = facts.step_at(last);
    return step == nullptr ? std::nullopt
                           : std::optional(EventRange{step->begin_event, step->end_event});
}

std::string refusal_of(const TraceReader& reader, const PlanRecording& recorded) {
    const Definitions& definitions = reader.definitions();
    if (!recorded.run.is_peak_kept()) {
        return "the peak lies before the events that this trace keeps; record without --keep";
    }
    const std::string ranks(definitions.meta_text("world_size"));
    if (!ranks.empty() && ranks != "1") {
        return "it is one of " + ranks + " ranks; a plan knows models of one process";
    }
    if (!definitions.compiled.empty()) {
        return "torch.compile chooses what to keep, by graphs and not by layers; see "
               "torch._functorch.config.activation_memory_budget";
    }
    if (recorded.blocks.families().empty()) {
        return "no layers that repeat (paths such as h.0 and h.1) keep values for a backward pass";
    }
    return {};
}

std::vector<Candidate> candidates_of(const PlanRecording& recorded,
                                     std::vector<std::string>* left_out) {
    std::vector<Candidate> found;
    std::string called_again;
    std::string recomputed;
    const auto add = [](std::string* names, const std::string& name) {
        *names += (names->empty() ? "" : ", ") + name;
    };
    for (const LayerFamily& family : recorded.blocks.families()) {
        for (const std::string& layer : family.layers) {
            Candidate one{layer, {}};
            bool is_again = false;
            bool is_recomputed = false;
            for (const LayerRun* const run : family.runs) {
                if (run->layer == layer) {
                    one.runs.push_back(run);
                    is_again = is_again || run->is_split || run->is_repeated();
                    is_recomputed = is_recomputed || run->is_recomputed;
                }
            }
            if (is_again) {
                add(&called_again, layer);
            } else if (is_recomputed) {
                add(&recomputed, layer);
            } else {
                found.push_back(std::move(one));
            }
        }
    }
    if (!called_again.empty()) {
        left_out->push_back("Left out, called several times in a pass: " + called_again);
    }
    if (!recomputed.empty()) {
        left_out->push_back("Left out, checkpointed already: " + recomputed);
    }
    std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        return a.runs.front()->begin_event() < b.runs.front()->begin_event();
    });
    return found;
}

}  // namespace peakline::report
