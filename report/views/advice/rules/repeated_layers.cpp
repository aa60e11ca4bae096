// Activations that torch.utils.checkpoint would make again in the backward pass.
//
// Note [Recomputed layers]
// Without reentrance a checkpointed layer runs as before, but the values it keeps for the backward
// pass are freed when it ends. Its result stays, because the next layer needs it to run again. When
// the backward pass first needs one of these values, the layer runs again, up to the last kept
// value: its blocks are made and freed once more there, in the order of the forward pass, and then
// live as they did. The events of the recording show all of this: the blocks of a layer that
// outlive the pass, the live set while it ran, and the event where the backward pass begins to free
// them.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "attempts.h"
#include "rules.h"

namespace peakline::report {
namespace {

// "h.0.attn" is part of layer 0 of "h.*".
struct LayerName {
    std::string family;  // "h.*"
    std::string layer;   // "h.0"
};

bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char letter) {
        return std::isdigit(letter) != 0;
    });
}

// The outermost part of a path that is a number names the layer.
std::optional<LayerName> layer_of(std::string_view path) {
    for (size_t begin = 0; begin < path.size();) {
        const size_t end = std::min(path.find('.', begin), path.size());
        if (begin != 0 && is_number(path.substr(begin, end - begin))) {
            return LayerName{std::string(path.substr(0, begin)) + "*",
                             std::string(path.substr(0, end))};
        }
        begin = end + 1;
    }
    return std::nullopt;
}

// A block that a layer made in one forward pass.
struct LayerBlock {
    uint64_t alloc_event;
    uint64_t free_event;
    uint64_t bytes;
    const std::string& op;
};

// One run of a layer: forward, and the backward pass that follows.
struct LayerRun {
    std::vector<LayerBlock> blocks;  // of the forward pass, in order
    uint64_t pass_end = 0;           // blocks freed later are held for the backward pass
    // In the backward pass: the first event that needs them, and the layer's last allocation.
    uint64_t backward_event = std::numeric_limits<uint64_t>::max();
    uint64_t backward_end = 0;
};

class RepeatedLayers : public AdviceRule {
public:
    explicit RepeatedLayers(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        const Phase phase = block.history.made_in;
        if (phase != Phase::kForward && phase != Phase::kBackward) {
            return;
        }
        const std::optional<LayerName> name = layer_of(block.origin.module);
        const PhaseInterval* const pass = run_.outermost_at(block.facts.alloc_event);
        if (!name.has_value() || pass == nullptr) {
            return;
        }
        Family& family = families_[name->family];
        Layer& layer = family.layers[name->layer];
        if (phase == Phase::kForward && block.history.has_graph) {
            see_forward(block, *pass, &family, &layer);
        } else if (phase == Phase::kBackward && !layer.runs.empty()) {
            see_backward(block.facts.alloc_event, &layer);
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        for (auto& [name, family] : families_) {
            if (family.layers.size() < 2) {
                continue;
            }
            Proposal one;
            one.rule = "checkpoint_layers";
            one.evidence =
                "layers of one class with activations that are live until the backward pass";
            one.title = "Activations of " + std::to_string(family.layers.size()) + " layers " +
                        name + " wait for the backward pass";
            one.change =
                "checkpoint them: torch.utils.checkpoint.checkpoint(layer, ..., "
                "use_reentrant=False), or model.gradient_checkpointing_enable(); each "
                "runs forward once more";
            family.line.describe(&one);
            const std::vector<const LayerRun*> runs = runs_in_order(family);
            for (size_t i = 0; i < runs.size(); ++i) {
                const bool has_next =
                    i + 1 < runs.size() && runs[i + 1]->pass_end == runs[i]->pass_end;
                checkpoint(*runs[i], has_next ? runs[i + 1] : nullptr, &one.most);
            }
            one.attempt = std::string(attempts::kCheckpoint) + "=" + name;
            proposals->push_back(std::move(one));
        }
    }

private:
    struct Layer {
        const PhaseInterval* pass = nullptr;  // pass of the last run
        std::vector<LayerRun> runs;
    };
    struct Family {
        std::map<std::string, Layer> layers;
        BlockSums line;
    };

    void see_forward(const RunBlock& block,
                     const PhaseInterval& pass,
                     Family* family,
                     Layer* layer) {
        if (layer->pass != &pass) {
            layer->pass = &pass;
            layer->runs.emplace_back().pass_end = pass.end_event;
        }
        layer->runs.back().blocks.push_back(
            {block.facts.alloc_event, block.facts.free_event, block.bytes, block.origin.op});
        if (block.origin.category == "activation") {
            family->line.add(block);
        }
    }

    static void see_backward(uint64_t event, Layer* layer) {
        LayerRun& run = layer->runs.back();
        run.backward_event = std::min(run.backward_event, event);
        run.backward_end = event;
    }

    static std::vector<const LayerRun*> runs_in_order(const Family& family) {
        std::vector<const LayerRun*> runs;
        for (const auto& [name, layer] : family.layers) {
            for (const LayerRun& run : layer.runs) {
                runs.push_back(&run);
            }
        }
        std::sort(runs.begin(), runs.end(), [](const LayerRun* a, const LayerRun* b) {
            return a->blocks.front().alloc_event < b->blocks.front().alloc_event;
        });
        return runs;
    }

    // See Note [Recomputed layers]. `next`: the layer that uses the result; nullptr: none.
    static void checkpoint(const LayerRun& run, const LayerRun* next, LevelChanges* changes);

    const RunFacts& run_;
    std::map<std::string, Family> families_;
};

// The highest sum of live blocks, as they are made and freed up to an event.
uint64_t highest_rise(const std::vector<LayerBlock>& blocks, uint64_t last_event) {
    std::vector<LevelChange> changes;
    for (const LayerBlock& block : blocks) {
        if (block.alloc_event <= last_event) {
            remove_between(block.alloc_event, block.free_event, block.bytes, &changes);
        }
    }
    std::sort(changes.begin(), changes.end(), [](const LevelChange& a, const LevelChange& b) {
        return a.event < b.event;
    });
    int64_t level = 0;
    int64_t highest = 0;
    for (const LevelChange& change : changes) {
        if (change.event <= last_event) {
            level -= change.bytes;
            highest = std::max(highest, level);
        }
    }
    return static_cast<uint64_t>(highest);
}

// The largest block of the layer's last operator.
const LayerBlock* result_of(const std::vector<LayerBlock>& blocks) {
    const LayerBlock* result = &blocks.back();
    for (size_t i = blocks.size(); i-- > 0 && blocks[i].op == blocks.back().op;) {
        result = blocks[i].bytes >= result->bytes ? &blocks[i] : result;
    }
    return result;
}

void RepeatedLayers::checkpoint(const LayerRun& run, const LayerRun* next, LevelChanges* changes) {
    const LayerBlock* const result = result_of(run.blocks);
    if (next != nullptr && result->free_event < next->backward_end) {
        changes->push_back({result->free_event, static_cast<int64_t>(result->bytes)});
        changes->push_back({next->backward_end, -static_cast<int64_t>(result->bytes)});
    }
    std::vector<const LayerBlock*> held;
    for (const LayerBlock& block : run.blocks) {
        if (&block != result && block.free_event >= run.pass_end) {
            held.push_back(&block);
        }
    }
    uint64_t backward = run.backward_event;
    if (held.empty() || backward == std::numeric_limits<uint64_t>::max()) {
        return;
    }
    for (const LayerBlock* const block : held) {
        backward = std::min(backward, block->free_event);
    }
    const uint64_t end = run.blocks.back().alloc_event + 1;
    changes->push_back({backward, 0, highest_rise(run.blocks, held.back()->alloc_event)});
    for (const LayerBlock* const block : held) {
        remove_between(end, backward, block->bytes, changes);
    }
}

}  // namespace

std::unique_ptr<AdviceRule> make_repeated_layers(const RunFacts& run) {
    return std::make_unique<RepeatedLayers>(run);
}

}  // namespace peakline::report
