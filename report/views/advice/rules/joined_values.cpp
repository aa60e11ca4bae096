// Finds a tensor that each pass appends to: all results so far in one block, made anew each time.
#include <algorithm>
#include <map>
#include <vector>

#include "rules.h"

namespace peakline::report {
namespace {

class JoinedValues : public AdviceRule {
public:
    explicit JoinedValues(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        if (block.origin.op != "aten::cat" || !is_value_of_step(block.origin.category) ||
            block.history.has_graph) {
            return;
        }
        Line& line = lines_[block.origin.line.key];
        const size_t pass = run_.pass_at(block.facts.alloc_event);
        std::vector<const Joined*> candidates;
        // The block that this one was joined from is live, smaller, and from an earlier pass.
        for (Joined& before : line.blocks) {
            if (before.pass < pass && before.bytes < block.bytes &&
                before.facts.free_event > block.facts.alloc_event) {
                candidates.push_back(&before);
            }
        }
        const auto longest = std::max_element(
            candidates.begin(), candidates.end(), [](const Joined* a, const Joined* b) {
                return a->joined < b->joined;
            });
        const size_t joined = longest == candidates.end() ? 1 : (*longest)->joined + 1;
        line.most_joined = std::max(line.most_joined, joined);
        std::erase_if(line.blocks, [&](const Joined& one) {
            return one.facts.free_event <= block.facts.alloc_event;
        });
        if (line.blocks.size() == kMostLive) {
            line.blocks.erase(line.blocks.begin());  // a list of many blocks: no tensor that grows
        }
        line.blocks.push_back({block.facts, block.bytes, pass, joined});
        remove_block(block, &line.changes);
        line.sums.add(block);
    }

    void propose(std::vector<Proposal>* proposals) override {
        for (auto& [key, line] : lines_) {
            if (line.most_joined < kLeastJoined) {
                continue;
            }
            Proposal one;
            one.rule = "results_joined";
            one.title = "The results of all passes are joined on the device";
            one.evidence = "made " + std::to_string(line.most_joined) +
                           " times in a row by aten::cat, each time larger, beside the one before";
            one.change =
                "copy each result to the host as it comes (.cpu()), and join them there "
                "(transformers: eval_accumulation_steps)";
            line.sums.describe(&one);
            one.most = std::move(line.changes);
            proposals->push_back(std::move(one));
        }
    }

private:
    static constexpr size_t kLeastJoined = 4;
    static constexpr size_t kMostLive = 16;
    struct Joined {
        BlockFacts facts;
        uint64_t bytes;
        size_t pass;
        size_t joined;  // length of the chain that ends with this one
    };
    struct Line {
        std::vector<Joined> blocks;  // blocks that may be live
        size_t most_joined = 0;
        LevelChanges changes;
        BlockSums sums;
    };

    const RunFacts& run_;
    std::map<std::string, Line> lines_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_joined_values(const RunFacts& run) {
    return std::make_unique<JoinedValues>(run);
}

}  // namespace peakline::report
