// Finds forward passes with gradients on, but without a backward pass.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "attempts.h"
#include "rules.h"

namespace peakline::report {
namespace {

// Passes that build a graph which no backward pass uses: activations stay until it is dropped.
// Three patterns show it: passes after which the program continued without a backward pass; passes
// that were joined to a later one, but the backward pass freed nothing of them; and, within a pass,
// blocks that are dropped all at once.
class UnusedGraphs : public AdviceRule {
public:
    explicit UnusedGraphs(const RunFacts& run) : run_(run) {
        const auto is_backward = [](const PhaseInterval& one) {
            return one.phase == Phase::kBackward;
        };
        trains_ = std::any_of(run.phases.phases.begin(), run.phases.phases.end(), is_backward);
    }

    void see(const RunBlock& block) override {
        const BlockHistory& history = block.history;
        if (block.is_weight_copy || history.made_in != Phase::kForward || !history.has_graph ||
            history.within_operator) {
            return;
        }
        const size_t pass = run_.pass_at(block.facts.alloc_event);
        if (pass != 0 && is_unused(pass, history.is_freed)) {
            remove(block.facts, block.bytes, &proposal_);
            sums_.add(block);
            unused_.insert(pass);
            add_kept(pass, block.facts, block.is_at_peak ? block.bytes : 0);
        } else if (pass != 0 && run_.passes[pass - 1]->parts.size() > 1) {
            see_joined(pass, block);
        } else if (history.within_phase && history.is_freed) {
            blocks_.push_back({block.facts, block.bytes, block.is_at_peak, &block.origin.line});
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one = std::move(proposal_);
        one.attempt = attempts::kNoGradInEval;
        add_joined(&one);
        sums_.describe(&one);
        add_dropped(&one);
        const bool is_kept = kept_bytes_ * 2 > one.held_bytes;
        one.rule = is_kept ? "graphs_kept" : "graph_unused";
        one.title = is_kept
                        ? "Graphs are kept from pass to pass, and no backward pass uses them"
                        : "Forward passes keep activations for a backward pass that never comes";
        one.change = "run them under torch.no_grad() or torch.inference_mode()";
        one.change += is_kept ? "; with gradients on, keep numbers (loss.item()) or detached "
                                "values (.detach())"
                              : "";
        one.evidence = "gradients were on; ";
        const size_t passes = unused_.size() + unused_parts_;
        one.evidence += passes == 0   ? std::string("activations were dropped all at once, unused")
                        : passes == 1 ? std::string("a pass was never run backward")
                                      : std::to_string(passes) + " passes were never run backward";
        proposals->push_back(std::move(one));
    }

private:
    // Without a graph a value lives until its last reader has run: the event is unknown, but soon.
    static constexpr uint64_t kEventsOfUse = 16;
    // This many blocks freed one after the other are a graph.
    static constexpr size_t kLeastDropped = 6;
    struct Dropped {
        BlockFacts facts;
        uint64_t bytes;
        bool is_at_peak;
        const Label* line;
    };

    struct Kept {
        BlockFacts facts;
        uint64_t bytes;
        uint64_t kept_bytes;  // at the peak, if it outlives the pass after its own
    };
    // A forward pass of a joined interval: the blocks it made for a backward pass.
    struct Part {
        std::vector<Kept> blocks;
        BlockSums sums;
        bool is_used = false;  // a backward pass freed some of it
    };

    void see_joined(size_t pass, const RunBlock& block) {
        const std::vector<EventRange>& ranges = run_.passes[pass - 1]->parts;
        const uint64_t made = block.facts.alloc_event;
        const auto after = std::upper_bound(
            ranges.begin(), ranges.end(), made, [](uint64_t at, const EventRange& one) {
                return at < one.begin;
            });
        const size_t index =
            after == ranges.begin() ? 0 : static_cast<size_t>(after - ranges.begin() - 1);
        const bool is_used = block.history.freed_in == Phase::kBackward;
        // After a pass come its loss and the input of the next one.
        if (made >= ranges[index].end && is_used) {
            return;
        }
        std::vector<Part>& parts = joined_[pass];
        parts.resize(ranges.size());
        Part& part = parts[index];
        part.is_used |= is_used;
        const bool is_kept =
            index + 1 < ranges.size() && ranges[index + 1].end < block.facts.free_event;
        part.blocks.push_back(
            {block.facts, block.bytes, is_kept && block.is_at_peak ? block.bytes : 0});
        part.sums.add(block);
    }

    // A block that outlives the pass after its own is held by kept results.
    void add_kept(size_t pass, const BlockFacts& facts, uint64_t bytes_at_peak) {
        if (pass < run_.passes.size() && run_.passes[pass]->end_event < facts.free_event) {
            kept_bytes_ += bytes_at_peak;
        }
    }

    // The last part is the backward pass's own: if it freed nothing of that, nothing is known.
    void add_joined(Proposal* one) {
        for (const auto& [pass, parts] : joined_) {
            if (!parts.back().is_used) {
                continue;
            }
            for (const Part& part : parts) {
                if (part.is_used || part.blocks.empty()) {
                    continue;
                }
                for (const Kept& block : part.blocks) {
                    remove(block.facts, block.bytes, one);
                    kept_bytes_ += block.kept_bytes;
                }
                sums_.add(part.sums);
                ++unused_parts_;
            }
        }
    }

    // The last pass of a program that trains may have been interrupted: then its blocks are not
    // freed.
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
            LineBytes& covered = one->covered[block.line->key];
            covered.line = *block.line;
            covered.bytes_at_peak += at_peak;
            if (block.bytes > largest && sums_.held_bytes() == 0) {
                largest = block.bytes;
                one->line = *block.line;
            }
        }
    }

    const RunFacts& run_;
    std::set<size_t> unused_;                     // passes
    std::map<size_t, std::vector<Part>> joined_;  // by pass
    size_t unused_parts_ = 0;
    uint64_t kept_bytes_ = 0;  // at the peak, from passes before the last one
    bool trains_ = false;
    Proposal proposal_;
    BlockSums sums_;  // of unused passes
    std::vector<Dropped> blocks_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_unused_graphs(const RunFacts& run) {
    return std::make_unique<UnusedGraphs>(run);
}

}  // namespace peakline::report
