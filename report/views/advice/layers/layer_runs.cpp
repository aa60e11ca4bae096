#include "layer_runs.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace peakline::report {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char letter) {
        return std::isdigit(letter) != 0;
    });
}

// The highest sum of live blocks, as they are made and freed up to an event. A cast of a weight
// lives until the region of autocast ends.
uint64_t highest_rise(const std::vector<LayerBlock>& blocks, uint64_t last_event) {
    LevelChanges changes;
    for (const LayerBlock& block : blocks) {
        if (block.alloc_event <= last_event) {
            const uint64_t end = block.is_weight_copy ? kNeverFreed : block.free_event;
            remove_between(block.alloc_event, end, block.bytes, &changes);
        }
    }
    std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
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

void keep_until(uint64_t end, const PassBlock& block, LevelChanges* changes) {
    if (block.free_event < end) {
        changes->push_back({block.free_event, static_cast<int64_t>(block.bytes)});
        changes->push_back({end, -static_cast<int64_t>(block.bytes)});
    }
}

// Moves inputs that several runs of a pass read to the family.
void share_inputs(const std::vector<LayerRun*>& runs, std::vector<SharedInput>* shared) {
    std::map<std::pair<size_t, uint64_t>, SharedInput> found;  // by pass and ordinal
    std::map<std::pair<size_t, uint64_t>, size_t> counts;
    for (const LayerRun* const run : runs) {
        for (const PassBlock& input : run->inputs) {
            SharedInput& one = found[{run->pass, input.ordinal}];
            one = {input, std::max(one.backward_end, run->backward_end)};
            ++counts[{run->pass, input.ordinal}];
        }
    }
    for (LayerRun* const run : runs) {
        std::erase_if(run->inputs, [&](const PassBlock& input) {
            return counts[{run->pass, input.ordinal}] > 1;
        });
    }
    for (const auto& [key, one] : found) {
        if (counts[key] > 1) {
            shared->push_back(one);
        }
    }
}

// The largest block of the layer's last operator.
uint64_t largest_of_last_operator(const LayerRun& run) {
    const LayerBlock* result = &run.blocks.back();
    for (size_t i = run.blocks.size(); i-- > 0 && *run.blocks[i].op == *run.blocks.back().op;) {
        result = run.blocks[i].bytes >= result->bytes ? &run.blocks[i] : result;
    }
    return result->ordinal;
}

// The largest block that is alive when the layer ends: the careful choice where no module shows
// which block comes out.
uint64_t largest_alive(const LayerRun& run) {
    const LayerBlock* largest = nullptr;
    for (const LayerBlock& block : run.blocks) {
        const bool is_alive = block.free_event > run.end_event() && !block.is_weight_copy;
        if (is_alive && (largest == nullptr || block.bytes >= largest->bytes)) {
            largest = &block;
        }
    }
    return largest == nullptr ? std::numeric_limits<uint64_t>::max() : largest->ordinal;
}

}  // namespace

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

bool LayerRun::is_repeated() const {
    const size_t count = blocks.size();
    for (size_t period = 1; period * 2 <= count; ++period) {
        if (count % period == 0 && std::equal(blocks.begin() + static_cast<std::ptrdiff_t>(period),
                                              blocks.end(),
                                              blocks.begin(),
                                              [](const LayerBlock& a, const LayerBlock& b) {
                                                  return a.context == b.context &&
                                                         a.bytes == b.bytes;
                                              })) {
            return true;
        }
    }
    return false;
}

LayerRuns::LayerRuns(const RunFacts& run) : run_(run), inputs_(run) {}

std::optional<size_t> LayerRuns::Layer::run_of_pass(size_t pass) const {
    return runs.empty() || runs.back().pass != pass ? std::nullopt : std::optional(runs.size() - 1);
}

void LayerRuns::see(const RunBlock& block) {
    inputs_.see(block);
    const Phase phase = block.history.made_in;
    if (phase != Phase::kForward && phase != Phase::kBackward && phase != Phase::kRecomputation) {
        return;
    }
    const std::optional<LayerName> name = layer_of(block.origin.module);
    const bool is_in_pass = run_.outermost_at(block.facts.alloc_event) != nullptr;
    if (!is_in_pass) {
        return;
    }
    if (!name.has_value()) {
        if (phase == Phase::kForward) {
            inputs_.see_outside(block);
        }
        return;
    }
    Family& family = families_[name->family];
    if (phase == Phase::kForward) {
        if (block.history.has_graph) {
            see_forward(block, *name, &family);
        }
        return;
    }
    Layer& layer = family.layers[name->layer];
    if (!layer.runs.empty()) {
        LayerRun& run = layer.runs.back();
        run.backward_event = std::min(run.backward_event, block.facts.alloc_event);
        run.backward_end = std::max(run.backward_end, block.facts.alloc_event);
        run.is_recomputed = run.is_recomputed || phase == Phase::kRecomputation;
    }
}

uint64_t LayerRuns::result_of(const LayerRun& run) const {
    return inputs_.of_module(run.layer, run.pass).has_value() ? largest_alive(run)
                                                              : largest_of_last_operator(run);
}

void LayerRuns::see_forward(const RunBlock& block, const LayerName& name, Family* family) {
    Layer& layer = family->layers[name.layer];
    const size_t pass = run_.pass_at(block.facts.alloc_event);
    if (!layer.run_of_pass(pass).has_value()) {
        LayerRun& run = layer.runs.emplace_back();
        run.layer = name.layer;
        run.pass = pass;
        run.pass_end = run_.outermost_at(block.facts.alloc_event)->end_event;
    } else if (last_layer_ != name.layer) {
        layer.runs.back().is_split = true;
    }
    last_layer_ = name.layer;
    layer.runs.back().blocks.push_back({block.ordinal,
                                        block.facts.alloc_event,
                                        block.facts.free_event,
                                        block.bytes,
                                        block.block.context,
                                        block.type,
                                        block.is_weight_copy,
                                        &block.origin.op,
                                        &block.origin.module});
    if (block.origin.category == "activation") {
        family->line.add(block);
    }
}

// Finds what goes in, what comes out, and what is held in between. `before`: the run of the layer
// before it in this pass; nullptr: none.
void LayerRuns::complete(LayerRun* run, const LayerRun* before) const {
    std::set<uint64_t> results;
    for (const LayerBlock& block : run->blocks) {
        if (inputs_.leaves(run->layer, block.ordinal, run->pass)) {
            results.insert(block.ordinal);
        }
    }
    if (results.empty()) {
        results.insert(result_of(*run));
    }
    for (const LayerBlock& block : run->blocks) {
        if (results.count(block.ordinal) == 0 && block.free_event >= run->pass_end) {
            run->held.push_back(&block);
        }
    }
    for (const LayerBlock* const block : run->held) {
        run->backward_event = std::min(run->backward_event, block->free_event);
        if (block->free_event != kNeverFreed) {
            run->backward_end = std::max(run->backward_end, block->free_event);
        }
    }
    if (const auto inputs = inputs_.of_module(run->layer, run->pass)) {
        run->inputs = *inputs;
    } else if (before != nullptr) {
        const uint64_t ordinal = result_of(*before);
        for (const LayerBlock& block : before->blocks) {
            if (block.ordinal == ordinal) {
                run->inputs = {{ordinal, block.alloc_event, block.free_event, block.bytes}};
            }
        }
    } else if (const auto youngest = inputs_.youngest_before(run->begin_event(), run->pass)) {
        run->inputs = {*youngest};
    }
}

std::vector<LayerFamily> LayerRuns::families() {
    std::vector<LayerFamily> all;
    for (auto& [name, family] : families_) {
        std::vector<LayerRun*> runs;
        for (auto& [layer, of_layer] : family.layers) {
            for (LayerRun& run : of_layer.runs) {
                runs.push_back(&run);
            }
        }
        std::sort(runs.begin(), runs.end(), [](const LayerRun* a, const LayerRun* b) {
            return a->begin_event() < b->begin_event();
        });
        LayerFamily& found = all.emplace_back(LayerFamily{name, {}, {}, {}, family.line});
        for (size_t i = 0; i < runs.size(); ++i) {
            const bool has_before = i != 0 && runs[i - 1]->pass == runs[i]->pass;
            complete(runs[i], has_before ? runs[i - 1] : nullptr);
            found.runs.push_back(runs[i]);
            if (std::find(found.layers.begin(), found.layers.end(), runs[i]->layer) ==
                found.layers.end()) {
                found.layers.push_back(runs[i]->layer);
            }
        }
        share_inputs(runs, &found.shared);
        if (found.layers.size() < 2) {
            all.pop_back();
        }
    }
    return all;
}

void checkpoint_run(const LayerRun& run, LevelChanges* changes) {
    if (!run.has_backward()) {
        return;
    }
    // Before the held values are there again.
    changes->push_back(
        {run.backward_event, 0, highest_rise(run.blocks, run.held.back()->alloc_event)});
    for (const LayerBlock* const block : run.held) {
        const uint64_t begin = block->is_weight_copy ? run.pass_end : run.end_event();
        remove_between(begin, run.backward_event, block->bytes, changes);
    }
    for (const PassBlock& input : run.inputs) {
        keep_until(run.backward_end, input, changes);
    }
}

void keep_shared_inputs(const LayerFamily& family, LevelChanges* changes) {
    for (const SharedInput& shared : family.shared) {
        keep_until(shared.backward_end, shared.block, changes);
    }
}

}  // namespace peakline::report
