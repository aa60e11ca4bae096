// Values that the program holds longer than the step that made them.
#include <algorithm>
#include <set>

#include "attempts.h"
#include "rules.h"

namespace peakline::report {
namespace {

// A variable holds the value of the step before until the next one is there to replace it.
class HeldValues : public AdviceRule {
public:
    explicit HeldValues(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        if (!block.history.is_freed || run_.steps_outlived(block.facts) != 1 ||
            !is_value_of_step(block.origin.category)) {
            return;
        }
        const PhaseInterval* const step = run_.step_at(block.facts.alloc_event);
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
        line_.describe(&one);
        one.most = std::move(changes_);
        one.is_exact = true;
        proposals->push_back(std::move(one));
    }

private:
    const RunFacts& run_;
    LevelChanges changes_;
    BlockSums line_;
};

// Every step leaves values that later steps do not free: a proposal for each line.
class KeptValues : public AdviceRule {
public:
    explicit KeptValues(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        const size_t outlived = run_.steps_outlived(block.facts);
        if (outlived == 0 || !is_value_of_step(block.origin.category)) {
            return;
        }
        const PhaseInterval* const step = run_.step_at(block.facts.alloc_event);
        Line& line = lines_[block.origin.line.key];
        line.sums.add(block);
        if (outlived > 1) {
            line.steps.insert(step);
        }
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
            line.sums.describe(&one);
            one.most = std::move(line.changes);
            one.is_exact = true;
            proposals->push_back(std::move(one));
        }
    }

private:
    // Fewer are values of single steps: a cache, a warm-up.
    static constexpr size_t kLeastSteps = 3;
    struct Line {
        BlockSums sums;
        std::set<const PhaseInterval*> steps;  // whose blocks outlive the next one, too
        LevelChanges changes;
    };

    const RunFacts& run_;
    std::map<std::string, Line> lines_;
};

// A pass that builds a graph which no backward pass uses: activations stay until it is dropped, all
// at once. A pass that is followed by another forward pass looks like a part of it.
class UnusedGraphs : public AdviceRule {
public:
    explicit UnusedGraphs(const RunFacts&) {}

    void see(const RunBlock& block) override {
        const BlockHistory& history = block.history;
        if (history.made_in == Phase::kForward && history.has_graph && history.within_phase &&
            history.is_freed && !history.within_operator) {
            blocks_.push_back({block.facts.alloc_event, block.facts.free_event, block.bytes});
            // Which of them are dropped together shows when all are known.
            origins_.emplace(block.facts.free_event, Origin{block.origin.line, block.is_at_peak});
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one;
        one.rule = "graph_unused";
        one.title = "A forward pass keeps activations for a backward pass that never comes";
        one.change = "run it under torch.no_grad() or torch.inference_mode()";
        one.attempt = attempts::kNoGradInEval;
        std::sort(blocks_.begin(), blocks_.end(), [](const Life& a, const Life& b) {
            return a.free_event < b.free_event;
        });
        for (size_t begin = 0; begin < blocks_.size();) {
            size_t end = begin + 1;
            while (end < blocks_.size() &&
                   blocks_[end].free_event == blocks_[end - 1].free_event + 1) {
                ++end;
            }
            if (end - begin >= kLeastDropped) {
                drop(begin, end, &one);
            }
            begin = end;
        }
        proposals->push_back(std::move(one));
    }

private:
    // Without a graph a value lives until its last reader has run: not known, but soon.
    static constexpr uint64_t kEventsOfUse = 16;
    // So many blocks freed one after the other are a graph.
    static constexpr size_t kLeastDropped = 6;
    struct Life {
        uint64_t alloc_event;
        uint64_t free_event;
        uint64_t bytes;
    };
    struct Origin {
        const Label& line;
        bool is_at_peak;
    };

    void drop(size_t begin, size_t end, Proposal* one) {
        uint64_t largest = 0;
        for (size_t i = begin; i < end; ++i) {
            const Life& life = blocks_[i];
            remove_between(life.alloc_event, life.free_event, life.bytes, &one->most);
            remove_between(std::min(life.alloc_event + kEventsOfUse, life.free_event),
                           life.free_event,
                           life.bytes,
                           &one->least);
            const Origin& origin = origins_.at(life.free_event);
            one->held_bytes += origin.is_at_peak ? life.bytes : 0;
            if (life.bytes > largest) {
                largest = life.bytes;
                one->line = origin.line;
            }
        }
    }

    std::vector<Life> blocks_;
    std::map<uint64_t, Origin> origins_;  // by the event of the free
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
