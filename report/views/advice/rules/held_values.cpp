// Values that the program holds longer than the step that made them.
#include <algorithm>
#include <set>

#include "rules.h"

namespace peakline::report {
namespace {

// A variable holds the value of the step before until the next one is there to replace it.
class HeldValues : public AdviceRule {
public:
    explicit HeldValues(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        const BlockHistory& history = block.history;
        if (!history.is_freed || history.steps_outlived != 1 ||
            !is_value_of_step(block.origin.category)) {
            return;
        }
        const PhaseInterval* const step = run_.step_at(block.facts.alloc_event);
        if (step == nullptr || block.facts.free_event <= step->end_event) {
            return;
        }
        remove_between(std::max(step->end_event, block.facts.alloc_event),
                       block.facts.free_event,
                       block.bytes,
                       &changes_);
        line_.add(block);
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one;
        one.rule = "held_to_next_step";
        one.title = "Values of the step before are still held while the next one computes";
        one.change = "del the variables at the end of a step, or make them in a function";
        one.line = line_.line();
        one.most = std::move(changes_);
        one.is_exact = true;
        proposals->push_back(std::move(one));
    }

private:
    const RunFacts& run_;
    LevelChanges changes_;
    HeaviestLine line_;
};

// Every step leaves values that later steps do not free: a proposal for each line.
class KeptValues : public AdviceRule {
public:
    explicit KeptValues(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        const BlockHistory& history = block.history;
        if (history.steps_outlived < 2 || !history.made_step.has_value() ||
            !is_value_of_step(block.origin.category)) {
            return;
        }
        const PhaseInterval* const step = run_.step_at(block.facts.alloc_event);
        Line& line = lines_[block.origin.line.key];
        line.heaviest.add(block);
        line.steps.insert(*history.made_step);
        remove_between(std::max(step->end_event, block.facts.alloc_event),
                       block.facts.free_event,
                       block.bytes,
                       &line.changes);
    }

    void propose(std::vector<Proposal>* proposals) override {
        for (auto& [key, line] : lines_) {
            if (line.steps.size() < kLeastSteps) {
                continue;
            }
            Proposal one;
            one.rule = "kept_by_every_step";
            one.title = "Every step leaves values live here; later steps do not free them";
            one.change =
                "keep numbers (loss.item()) or detached copies on the host; peakline leaks says "
                "what holds them";
            one.line = line.heaviest.line();
            one.most = std::move(line.changes);
            one.is_exact = true;
            proposals->push_back(std::move(one));
        }
    }

private:
    // Fewer are values of single steps: a cache, a warm-up.
    static constexpr size_t kLeastSteps = 3;
    struct Line {
        HeaviestLine heaviest;
        std::set<uint32_t> steps;  // that made a block
        LevelChanges changes;
    };

    const RunFacts& run_;
    std::map<std::string, Line> lines_;
};

// A pass that builds a graph which no backward pass uses: activations stay until it ends.
class UnusedGraphs : public AdviceRule {
public:
    explicit UnusedGraphs(const RunFacts&) {}

    void see(const RunBlock& block) override {
        if (block.history.made_in != Phase::kForward || !block.history.outlived_cut_pass) {
            return;
        }
        const BlockFacts& facts = block.facts;
        remove_block(block, &most_);
        remove_between(std::min(facts.alloc_event + kEventsOfUse, facts.free_event),
                       facts.free_event,
                       block.bytes,
                       &least_);
        line_.add(block);
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one;
        one.rule = "graph_unused";
        one.title = "A forward pass keeps activations for a backward pass that never comes";
        one.change = "run it under torch.no_grad() or torch.inference_mode()";
        one.line = line_.line();
        one.most = std::move(most_);
        one.least = std::move(least_);
        one.attempt = "no-grad-in-eval";
        proposals->push_back(std::move(one));
    }

private:
    // Without a graph a value lives until its last reader has run: not known, but soon.
    static constexpr uint64_t kEventsOfUse = 16;
    LevelChanges most_;
    LevelChanges least_;
    HeaviestLine line_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_held_values(const RunFacts& run) {
    return std::make_unique<HeldValues>(run);
}

std::unique_ptr<AdviceRule> make_kept_values(const RunFacts& run) {
    return std::make_unique<KeptValues>(run);
}

std::unique_ptr<AdviceRule> make_unused_graphs(const RunFacts& run) {
    return std::make_unique<UnusedGraphs>(run);
}

}  // namespace peakline::report
