// Finds values that the program holds longer than the step that made them.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "rules.h"

namespace peakline::report {
namespace {

// A variable holds the value of the previous step until the next one replaces it.
class HeldValues : public AdviceRule {
public:
    explicit HeldValues(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        if (!block.history.is_freed || run_.steps_outlived(block.facts) != 1 ||
            !is_value_of_step(block.origin.category)) {
            return;
        }
        // If a step is just a forward pass, its input is made before it.
        const bool is_pass = run_.phases.step_source == StepSource::kForward;
        if (is_pass && block.history.made_in != Phase::kForward) {
            return;
        }
        const PhaseInterval* const step = run_.step_at(block.facts.alloc_event);
        remove_between(std::max(step->end_event, block.facts.alloc_event),
                       block.facts.free_event,
                       block.bytes,
                       &changes_);
        steps_.insert(step);
        line_.add(block);
    }

    void propose(std::vector<Proposal>* proposals) override {
        // The program may treat consecutive passes as one unit: then not each of them is held.
        if (run_.phases.step_source == StepSource::kForward &&
            (steps_.size() < kLeastPasses || steps_.size() * 4 < run_.passes.size() * 3)) {
            return;
        }
        Proposal one;
        one.rule = "held_to_next_step";
        one.title = "Values of the step before are still held while the next one computes";
        one.evidence = "freed within the step after theirs";
        one.change = "del the variables at the end of a step, or make them in a function";
        line_.describe(&one);
        one.most = std::move(changes_);
        one.is_exact = true;
        proposals->push_back(std::move(one));
    }

private:
    static constexpr size_t kLeastPasses = 4;
    const RunFacts& run_;
    std::set<const PhaseInterval*> steps_;  // steps with held values
    LevelChanges changes_;
    BlockSums line_;
};

// Values that a model and its optimizer hold as long as they live.
bool is_of_model(std::string_view category) {
    constexpr std::array<std::string_view, 3> kNames = {"parameter", "buffer", "optimizer state"};
    return std::find(kNames.begin(), kNames.end(), category) != kNames.end();
}

// The origin of kept values: it decides the advice.
enum class KeptHow {
    kResults,
    kOfTraining,
    kDoubleBackward,
    kBackward,
    kModels,
    kGradients,  // reported together with models, or if they are more than the parameters
};

KeptHow how_kept(const RunBlock& block) {
    const BlockHistory& history = block.history;
    if (is_of_model(block.origin.category)) {
        return KeptHow::kModels;
    }
    if (block.origin.category == "gradient" && history.without_gradients) {
        return KeptHow::kGradients;
    }
    if (history.made_in == Phase::kBackward) {
        // The engine turns gradients off, except with create_graph=True.
        return history.without_gradients ? KeptHow::kBackward : KeptHow::kDoubleBackward;
    }
    // A backward pass frees the values that its graph saved: a value kept after it may be a result.
    return history.has_graph ? KeptHow::kOfTraining : KeptHow::kResults;
}

struct KeptWords {
    const char* rule;
    const char* title;
    const char* change;
};

KeptWords words_of(KeptHow how) {
    switch (how) {
        case KeptHow::kOfTraining:
            return {"results_kept",
                    "Values are kept on the device from pass to pass",
                    "keep numbers (loss.item()) or copies on the host (.detach().cpu()); a value "
                    "that still has its graph keeps the values of the graph, too"};
        case KeptHow::kDoubleBackward:
            return {"double_backward_kept",
                    "Backward passes with create_graph=True leave their graphs",
                    "a gradient with a graph and its parameter hold each other: use "
                    "torch.autograd.grad(), or set the gradients to None after each pass"};
        case KeptHow::kBackward:
            return {"gradients_kept",
                    "Values made in backward passes are kept from pass to pass",
                    "set them to None after use, or keep copies on the host"};
        case KeptHow::kGradients:
            return {"models_kept",
                    "Gradients of earlier models are kept with them",
                    "drop the models: peakline holders shows the references to them"};
        case KeptHow::kModels:
            return {
                "models_kept",
                "Models are made again and again, and the earlier ones are kept",
                "drop the model, its optimizer and all references to them before the next one is "
                "made: peakline holders shows the references"};
        case KeptHow::kResults:
            break;
    }
    return {"results_kept",
            "Values are kept on the device from pass to pass",
            "copy them to the host as they come (.cpu()), or keep only the part you need; "
            "clear values held by a hook or an attribute of a module after use"};
}

// Passes leave values that later ones do not free: one proposal for each line and origin, and one
// for models.
class KeptValues : public AdviceRule {
public:
    explicit KeptValues(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        const BlockHistory& history = block.history;
        if (block.is_at_peak && block.origin.category == "parameter") {
            parameter_bytes_ += block.bytes;
        }
        const bool is_value = is_value_of_step(block.origin.category) ||
                              (history.made_in == Phase::kBackward && !history.within_phase &&
                               !history.without_gradients);
        const size_t pass = run_.pass_at(block.facts.alloc_event);
        const size_t outlived = run_.steps_outlived(block.facts);
        const bool is_model = outlived > 1 && (is_of_model(block.origin.category) ||
                                               block.origin.category == "gradient");
        if (block.facts.is_restored || !(is_value || is_model)) {
            return;
        }
        // UnusedGraphs reports the values that such a pass keeps.
        if (history.has_graph && history.made_in != Phase::kBackward && pass != 0 &&
            run_.passes[pass - 1]->is_cut) {
            return;
        }
        // A backward pass frees the values that waited for it, or the program keeps them past its
        // step.
        const bool is_alone = !history.has_graph || history.made_in == Phase::kBackward;
        const bool in_pass =
            pass != 0 && is_alone && !is_model && run_.end_of_pass(pass) < block.facts.free_event;
        if (!in_pass && outlived == 0) {
            return;
        }
        const KeptHow how = how_kept(block);
        const bool is_of_models = how == KeptHow::kModels || how == KeptHow::kGradients;
        Line& line = lines_[{is_of_models ? std::string() : block.origin.line.key, how}];
        line.sums.add(block);
        if (outlived > 1) {
            line.steps.insert(run_.step_at(block.facts.alloc_event));
        }
        if (in_pass && block.is_at_peak) {
            line.passes_at_peak.insert(pass);
        }
        const PhaseInterval* const step = run_.step_at(block.facts.alloc_event);
        const uint64_t end = outlived > 0 ? step->end_event : run_.end_of_pass(pass);
        remove_between(std::max(end, block.facts.alloc_event),
                       block.facts.free_event,
                       block.bytes,
                       &line.changes);
    }

    void propose(std::vector<Proposal>* proposals) override {
        fold_into_double_backward();
        const bool keeps_models = keeps(KeptHow::kModels);
        for (auto& [key, line] : lines_) {
            const size_t passes = line.passes_at_peak.size();
            KeptHow how = key.second;
            if (how == KeptHow::kGradients && !keeps_models) {
                // A parameter has one gradient: what is more is kept by the program.
                if (line.sums.held_bytes() <= parameter_bytes_) {
                    continue;
                }
                how = KeptHow::kBackward;
            }
            if (!is_kept(line)) {
                continue;
            }
            const KeptWords words = words_of(how);
            Proposal one;
            one.rule = words.rule;
            one.title = words.title;
            one.change = words.change;
            one.evidence = passes > line.steps.size()
                               ? "live at the peak: values of " + std::to_string(passes) + " passes"
                               : "values of " + std::to_string(line.steps.size()) +
                                     " steps outlived the step after theirs";
            line.sums.describe(&one);
            one.most = std::move(line.changes);
            // Some values of a backward pass are needed until it ends.
            one.is_open = how == KeptHow::kDoubleBackward || how == KeptHow::kBackward;
            // A model from before the first step may be another one: it is not counted.
            one.is_exact = !one.is_open && how != KeptHow::kModels;
            proposals->push_back(std::move(one));
        }
    }

private:
    // Fewer are values of single steps: a warm-up, two alternating networks.
    static constexpr size_t kLeastSteps = 3;
    static constexpr size_t kLeastPasses = 4;
    struct Line {
        BlockSums sums;
        std::set<const PhaseInterval*> steps;  // passes with blocks that are live at the peak
        std::set<size_t> passes_at_peak;       // whose blocks are live at the peak
        LevelChanges changes;
    };

    static bool is_kept(const Line& line) {
        return line.steps.size() >= kLeastSteps || line.passes_at_peak.size() >= kLeastPasses;
    }

    bool keeps(KeptHow how) const {
        return std::any_of(lines_.begin(), lines_.end(), [&](const auto& one) {
            return one.first.second == how && is_kept(one.second);
        });
    }

    // Gradients with graphs hold the parameters and values they were made from.
    void fold_into_double_backward() {
        const auto cause = std::find_if(lines_.begin(), lines_.end(), [](const auto& one) {
            return one.first.second == KeptHow::kDoubleBackward && is_kept(one.second);
        });
        if (cause == lines_.end()) {
            return;
        }
        for (auto at = lines_.begin(); at != lines_.end();) {
            const KeptHow how = at->first.second;
            if (at == cause || how == KeptHow::kResults || how == KeptHow::kBackward) {
                ++at;
                continue;
            }
            cause->second.sums.add(at->second.sums);
            const LevelChanges& changes = at->second.changes;
            cause->second.changes.insert(
                cause->second.changes.end(), changes.begin(), changes.end());
            at = lines_.erase(at);
        }
    }

    const RunFacts& run_;
    uint64_t parameter_bytes_ = 0;  // at the peak
    std::map<std::pair<std::string, KeptHow>, Line> lines_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_held_values(const RunFacts& run) {
    return std::make_unique<HeldValues>(run);
}

std::unique_ptr<AdviceRule> make_kept_values(const RunFacts& run) {
    return std::make_unique<KeptValues>(run);
}

}  // namespace peakline::report
