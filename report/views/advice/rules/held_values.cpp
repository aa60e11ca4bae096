// Values that the program holds longer than the step that made them.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
        one.evidence = "freed within the step after theirs";
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

// How values came to be that are kept: it decides what to do.
enum class KeptHow { kResults, kOfTraining, kGraphs, kDoubleBackward, kBackward };

KeptHow how_kept(const BlockHistory& history, bool is_unused) {
    if (history.made_in == Phase::kBackward) {
        // The engine turns gradients off, but for create_graph=True.
        return history.without_gradients ? KeptHow::kBackward : KeptHow::kDoubleBackward;
    }
    if (!history.has_graph) {
        return KeptHow::kResults;
    }
    // A backward pass frees what its graph saved: what is still kept after it may be a result.
    return is_unused ? KeptHow::kGraphs : KeptHow::kOfTraining;
}

struct KeptWords {
    const char* rule;
    const char* title;
    const char* change;
};

KeptWords words_of(KeptHow how) {
    switch (how) {
        case KeptHow::kGraphs:
            return {"graphs_kept",
                    "Values are kept from pass to pass, with the graphs that made them",
                    "keep numbers (loss.item()) or detached copies (.detach().cpu())"};
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
        case KeptHow::kResults:
            break;
    }
    return {"results_kept",
            "Values are kept on the device from pass to pass",
            "copy them to the host as they come (.cpu()), or keep only what is needed of them; "
            "what a hook or an attribute of a module holds, clear after use"};
}

// Passes leave values that later ones do not free: a proposal for each line and way.
class KeptValues : public AdviceRule {
public:
    explicit KeptValues(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        const bool is_kept = is_value_of_step(block.origin.category) ||
                             (block.history.made_in == Phase::kBackward &&
                              !block.history.within_phase && !block.history.without_gradients);
        const size_t pass = run_.pass_at(block.facts.alloc_event);
        if (!is_kept || block.facts.is_restored) {
            return;
        }
        const BlockHistory& history = block.history;
        const bool is_unused = pass != 0 && run_.passes[pass - 1]->is_cut;
        // What waits for a backward pass that came is freed by it, or kept past its step.
        const bool is_alone =
            !history.has_graph || is_unused || history.made_in == Phase::kBackward;
        const size_t outlived = run_.steps_outlived(block.facts);
        const bool in_pass =
            pass != 0 && is_alone && run_.end_of_pass(pass) < block.facts.free_event;
        if (!in_pass && outlived == 0) {
            return;
        }
        const KeptHow how = how_kept(history, is_unused);
        Line& line = lines_[{block.origin.line.key, how}];
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
        for (auto& [key, line] : lines_) {
            const size_t passes = line.passes_at_peak.size();
            if (line.steps.size() < kLeastSteps && passes < kLeastPasses) {
                continue;
            }
            const KeptWords words = words_of(key.second);
            Proposal one;
            one.rule = words.rule;
            one.title = words.title;
            one.change = words.change;
            one.evidence = passes > 1
                               ? "live at the peak: values of " + std::to_string(passes) + " passes"
                               : "values of " + std::to_string(line.steps.size()) +
                                     " steps outlived the step after theirs";
            line.sums.describe(&one);
            one.most = std::move(line.changes);
            // Of what a backward pass made, a part is needed until it ends.
            one.is_open =
                key.second == KeptHow::kDoubleBackward || key.second == KeptHow::kBackward;
            one.is_exact = !one.is_open;
            proposals->push_back(std::move(one));
        }
    }

private:
    // Fewer are values of single steps: a warm-up, two networks that take turns.
    static constexpr size_t kLeastSteps = 3;
    static constexpr size_t kLeastPasses = 4;
    struct Line {
        BlockSums sums;
        std::set<const PhaseInterval*> steps;  // whose blocks outlive the next one, too
        std::set<size_t> passes_at_peak;       // whose blocks are live at the peak
        LevelChanges changes;
    };

    const RunFacts& run_;
    std::map<std::pair<std::string, KeptHow>, Line> lines_;
};

// Passes that build a graph which no backward pass uses: activations stay until it is dropped. Two
// ways show it: passes after which the program went on without a backward pass; and, within a pass
// that others were joined to, blocks that are dropped all at once.
class UnusedGraphs : public AdviceRule {
public:
    explicit UnusedGraphs(const RunFacts& run) : run_(run) {
        const auto is_backward = [](const PhaseInterval& one) {
            return one.phase == Phase::kBackward;
        };
        trains_ = std::any_of(run.phases.phases.begin(), run.phases.phases.end(), is_backward);
    }

    void see(const RunBlock& block) override {
        weights_.see(block, run_.definitions);
        const BlockHistory& history = block.history;
        if (weights_.is_one(block) || history.made_in != Phase::kForward || !history.has_graph ||
            history.within_operator) {
            return;
        }
        const size_t pass = run_.pass_at(block.facts.alloc_event);
        if (pass != 0 && is_unused(pass, history.is_freed)) {
            remove(block.facts, block.bytes, &proposal_);
            sums_.add(block);
            unused_.insert(pass);
        } else if (history.within_phase && history.is_freed) {
            blocks_.push_back({block.facts, block.bytes, block.is_at_peak, &block.origin.line});
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one = std::move(proposal_);
        one.rule = "graph_unused";
        one.title = "Forward passes keep activations for a backward pass that never comes";
        one.change = "run them under torch.no_grad() or torch.inference_mode()";
        one.attempt = attempts::kNoGradInEval;
        sums_.describe(&one);
        add_dropped(&one);
        one.evidence = "gradients were on; ";
        one.evidence += unused_.empty()
                            ? std::string("activations were dropped all at once, unused")
                        : unused_.size() == 1
                            ? std::string("a pass was never run backward")
                            : std::to_string(unused_.size()) + " passes were never run backward";
        proposals->push_back(std::move(one));
    }

private:
    // Without a graph a value lives until its last reader has run: not known, but soon.
    static constexpr uint64_t kEventsOfUse = 16;
    // So many blocks freed one after the other are a graph.
    static constexpr size_t kLeastDropped = 6;
    struct Dropped {
        BlockFacts facts;
        uint64_t bytes;
        bool is_at_peak;
        const Label* line;
    };

    // The last pass of a program that trains may have been interrupted: then it is not freed.
    bool is_unused(size_t pass, bool is_freed) const {
        const PhaseInterval& interval = *run_.passes[pass - 1];
        return interval.is_cut && !interval.has_died &&
               (pass < run_.passes.size() || !trains_ || is_freed);
    }

    static void remove(const BlockFacts& facts, uint64_t bytes, Proposal* one) {
        remove_between(facts.alloc_event, facts.free_event, bytes, &one->most);
        const uint64_t last_use = std::min(facts.alloc_event + kEventsOfUse, facts.free_event);
        remove_between(last_use, facts.free_event, bytes, &one->least);
    }

    void add_dropped(Proposal* one) {
        std::sort(blocks_.begin(), blocks_.end(), [](const Dropped& a, const Dropped& b) {
            return a.facts.free_event < b.facts.free_event;
        });
        for (size_t begin = 0; begin < blocks_.size();) {
            size_t end = begin + 1;
            while (end < blocks_.size() &&
                   blocks_[end].facts.free_event == blocks_[end - 1].facts.free_event + 1) {
                ++end;
            }
            if (end - begin >= kLeastDropped) {
                drop(begin, end, one);
            }
            begin = end;
        }
    }

    void drop(size_t begin, size_t end, Proposal* one) {
        uint64_t largest = 0;
        for (size_t i = begin; i < end; ++i) {
            const Dropped& block = blocks_[i];
            remove(block.facts, block.bytes, one);
            const uint64_t at_peak = block.is_at_peak ? block.bytes : 0;
            one->held_bytes += at_peak;
            one->covered[block.line->key] += at_peak;
            if (block.bytes > largest && sums_.held_bytes() == 0) {
                largest = block.bytes;
                one->line = *block.line;
            }
        }
    }

    const RunFacts& run_;
    WeightCopies weights_;
    std::set<size_t> unused_;  // passes
    bool trains_ = false;
    Proposal proposal_;
    BlockSums sums_;  // of unused passes
    std::vector<Dropped> blocks_;
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
