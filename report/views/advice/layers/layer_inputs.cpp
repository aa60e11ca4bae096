#include "layer_inputs.h"

#include <algorithm>

namespace peakline::report {
namespace {

bool is_within(const std::string& path, const std::string& layer) {
    return path.compare(0, layer.size(), layer) == 0 &&
           (path.size() == layer.size() || path[layer.size()] == '.');
}

// Each path is there twice, with its model and without: whether one is within the other layer.
bool has_other_form(const std::string& reader, const std::string& layer) {
    const size_t dot = layer.find('.');
    const size_t other = reader.find('.');
    return (dot != std::string::npos && is_within(reader, layer.substr(dot + 1))) ||
           (other != std::string::npos && is_within(reader.substr(other + 1), layer));
}

bool is_made_after_pass(Phase phase) {
    return phase == Phase::kBackward || phase == Phase::kRecomputation ||
           phase == Phase::kOptimizer;
}

}  // namespace

LayerInputs::LayerInputs(const RunFacts& run) : run_(run) {
    for (const ModuleInput& input : run.definitions.module_inputs) {
        const Instance& instance = run.definitions.instance(input.instance);
        if (instance.root != 0) {
            const std::string path(run.definitions.text(instance.path));
            inputs_[path].push_back(input.ordinal);
            // Paths begin with the model where a program has several.
            inputs_[std::string(run.definitions.text(instance.root)) + "." + path].push_back(
                input.ordinal);
            sources_[input.ordinal] = {};
        }
    }
}

// The first pass that ends after the event. A block made between two passes belongs to the second.
size_t LayerInputs::pass_of(uint64_t event) const {
    const auto found = std::partition_point(
        run_.passes.begin(), run_.passes.end(), [event](const PhaseInterval* pass) {
            return pass->end_event <= event;
        });
    return static_cast<size_t>(found - run_.passes.begin()) + 1;
}

void LayerInputs::see(const RunBlock& block) {
    const auto named = sources_.find(block.ordinal);
    if (is_made_after_pass(block.history.made_in) && named == sources_.end()) {
        return;
    }
    const size_t pass = pass_of(block.facts.alloc_event);
    std::vector<PassBlock>& same = blocks_[{pass, block.block.context}];
    same.push_back({block.ordinal, block.facts.alloc_event, block.facts.free_event, block.bytes});
    const OfOperator key{pass, block.origin.module, block.origin.op};
    std::vector<PassBlock>& of_operator = of_operators_[key];
    of_operator.push_back(same.back());
    if (named != sources_.end()) {
        named->second = {pass,
                         block.block.context,
                         same.size() - 1,
                         block.origin.module,
                         block.origin.op,
                         of_operator.size() - 1};
        named_[block.ordinal] = same.back();
    }
}

void LayerInputs::see_outside(const RunBlock& block) {
    outside_[pass_of(block.facts.alloc_event)].push_back(
        {block.ordinal, block.facts.alloc_event, block.facts.free_event, block.bytes});
}

bool LayerInputs::lives_in(const PassBlock& block, size_t pass) const {
    // The number after the last pass is that of all later blocks. Without passes it is 1: a program
    // may run its model within optimizer.step(closure).
    if (pass == 0 || pass > run_.passes.size()) {
        return false;
    }
    const PhaseInterval& interval = *run_.passes[pass - 1];
    return block.alloc_event < interval.end_event && block.free_event > interval.begin_event;
}

std::optional<PassBlock> LayerInputs::block_at(const Source& source,
                                               uint64_t ordinal,
                                               size_t pass) const {
    if (source.pass == 0) {
        return std::nullopt;  // older than the recording
    }
    const auto same = blocks_.find({pass, source.context});
    if (same != blocks_.end() && source.number < same->second.size()) {
        return same->second[source.number];
    }
    // A block that lives through the passes: a buffer, or data that is used again.
    const PassBlock& first = named_.at(ordinal);
    if (lives_in(first, pass)) {
        return first;
    }
    const auto of_operator = of_operators_.find({pass, source.module, source.op});
    const bool is_there = same == blocks_.end() && of_operator != of_operators_.end() &&
                          source.number_of_op < of_operator->second.size();
    return is_there ? std::optional(of_operator->second[source.number_of_op]) : std::nullopt;
}

std::optional<std::vector<PassBlock>> LayerInputs::of_module(const std::string& path,
                                                             size_t pass) const {
    const auto found = inputs_.find(path);
    if (found == inputs_.end() || pass == 0) {
        return std::nullopt;
    }
    std::vector<PassBlock> blocks;
    for (const uint64_t ordinal : found->second) {
        const auto block = block_at(sources_.at(ordinal), ordinal, pass);
        if (!block.has_value()) {
            return std::nullopt;
        }
        if (std::find(blocks.begin(), blocks.end(), *block) == blocks.end()) {
            blocks.push_back(*block);
        }
    }
    return blocks;
}

void LayerInputs::resolve(size_t pass) const {
    std::map<uint64_t, std::vector<const std::string*>>& readers = readers_[pass];
    for (const auto& [path, ordinals] : inputs_) {
        for (const uint64_t ordinal : ordinals) {
            if (const auto block = block_at(sources_.at(ordinal), ordinal, pass)) {
                readers[block->ordinal].push_back(&path);
            }
        }
    }
}

bool LayerInputs::leaves(const std::string& path, uint64_t ordinal, size_t pass) const {
    if (readers_.find(pass) == readers_.end()) {
        resolve(pass);
    }
    const auto& readers = readers_.at(pass);
    const auto found = readers.find(ordinal);
    return found != readers.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const std::string* reader) {
               return !is_within(*reader, path) && !is_within(path, *reader) &&
                      !has_other_form(*reader, path);
           });
}

std::optional<PassBlock> LayerInputs::youngest_before(uint64_t event, size_t pass) const {
    const auto found = outside_.find(pass);
    if (found == outside_.end()) {
        return std::nullopt;
    }
    std::optional<PassBlock> youngest;
    for (const PassBlock& block : found->second) {
        if (block.alloc_event < event && block.free_event > event) {
            youngest = block;
        }
    }
    return youngest;
}

}  // namespace peakline::report
