#include "page_contexts.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "report/attribute/stacks/frame_policy.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

bool is_users(const Location& location) {
    return !location.is_native && is_users_file(location.file);
}

Location named_location(std::string name) {
    Location location;
    location.function = std::move(name);
    return location;
}

}  // namespace

size_t page_key(std::string_view name) {
    const auto keys = page_groupings();
    const auto at = std::ranges::find_if(keys, [&](const auto* one) { return name == one->name; });
    return static_cast<size_t>(at - keys.begin());
}

PageNames::PageNames() {
    for (const Grouping* grouping : page_groupings()) {
        keys.push_back({grouping, {}});
    }
}

PageContexts::PageContexts(StackLookup& stacks, const PhaseTable& phases)
    : stacks_(stacks), histories_(phases, stacks.phase_rules()), help_{stacks, histories_} {
    names_.frames.push_back({named_location("whole program")});
}

// Packs all fields of a history that the groupings use.
uint64_t PageContexts::pack(const BlockHistory& history, const Tensor& tensor) {
    uint64_t bits = static_cast<uint64_t>(history.made_in);
    bits = bits << 4 | static_cast<uint64_t>(history.freed_in);
    bits = bits << 4 | (static_cast<uint64_t>(tensor.kind) & 15);
    for (const bool bit : {history.is_freed,
                           history.within_operator,
                           history.within_phase,
                           history.after_work,
                           history.outlived_cut_pass,
                           history.is_trained,
                           history.has_graph,
                           history.made_step.has_value(),
                           history.freed_step.has_value()}) {
        bits = bits << 1 | (bit ? 1U : 0U);
    }
    return bits << 32 | history.steps_outlived;
}

uint32_t PageContexts::of(const AllocationShape& shape, uint64_t ordinal, const BlockFacts& facts) {
    TrackedBlock block;
    block.ordinal = ordinal;
    block.block.context = shape.context;
    block.block.stream = shape.stream;
    block.block.device = shape.device;
    block.block.count = 1;
    block.block.tensor = stacks_.definitions().tensor_of(ordinal);
    block.facts = facts;
    const BlockHistory history = histories_.of(block);
    const Tensor& tensor = stacks_.definitions().tensor(block.block.tensor);
    const BlockKey key = {uint64_t{shape.context} << 32 | tensor.instance, pack(history, tensor)};
    const auto [at, is_new] = of_key_.try_emplace(key, 0);
    if (is_new) {
        at->second = add(block, history);
    }
    return at->second;
}

uint32_t PageContexts::add(const TrackedBlock& block, const BlockHistory& history) {
    PageContext context;
    context.node = node_id(row_of(find_grouping("stack"), block, history).label);
    BlockRow line = row_of(find_grouping("line"), block, history);
    context.line = line_id(std::move(line.label));
    context.via = id_of("via", std::move(line.via), names_.vias);
    for (size_t i = 0; i < names_.keys.size(); ++i) {
        PageKey& key = names_.keys[i];
        std::string name = row_of(*key.grouping, block, history).label.key;
        context.keys[i] = id_of(key.grouping->name, std::move(name), key.names);
    }
    const auto next = static_cast<uint32_t>(names_.contexts.size());
    const auto [at, is_new] = of_context_.try_emplace(context, next);
    if (is_new) {
        names_.contexts.push_back(context);
    }
    return at->second;
}

BlockRow PageContexts::row_of(const Grouping& by,
                              const TrackedBlock& block,
                              const BlockHistory& history) {
    BlockGroup group = block.block;
    group.facet = by.facet != nullptr ? by.facet(block, history, help_) : Facet();
    return by.row_of(stacks_, group);
}

uint32_t PageContexts::id_of(const char* kind, std::string name, std::vector<std::string>& names) {
    const auto next = static_cast<uint32_t>(names.size());
    const auto [at, is_new] = ids_[kind].try_emplace(name, next);
    if (is_new) {
        names.push_back(std::move(name));
    }
    return at->second;
}

uint32_t PageContexts::line_id(Label label) {
    const auto next = static_cast<uint32_t>(names_.lines.size());
    const auto [at, is_new] = ids_["line"].try_emplace(label.key, next);
    if (is_new) {
        names_.lines.push_back(std::move(label));
    }
    return at->second;
}

uint32_t PageContexts::frame_id(const Location& location) {
    const auto next = static_cast<uint32_t>(names_.frames.size());
    const std::string key = location_key(location) + "\n" + location.qualified_name;
    const auto [at, is_new] = ids_["frame"].try_emplace(key, next);
    if (is_new) {
        names_.frames.push_back(
            {location, is_wrapper(location.file, location.function), is_users(location)});
    }
    return at->second;
}

uint32_t PageContexts::node_of(uint32_t trace_context) {
    const uint32_t context = stacks_.definitions().known_context(trace_context);
    const auto [at, is_new] = node_of_context_.try_emplace(context, 0);
    if (is_new) {
        BlockGroup group;
        group.context = context;
        at->second = node_id(find_grouping("stack").row_of(stacks_, group).label);
    }
    return at->second;
}

uint32_t PageContexts::node_id(const Label& stack) {
    std::vector<uint32_t> frames;
    if (!stack.name.empty() || stack.frames.empty()) {
        frames.push_back(frame_id(named_location(stack.name)));
    }
    for (const Location& location : stack.frames) {
        frames.push_back(frame_id(location));
    }
    uint32_t node = 0;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        const auto next = static_cast<uint32_t>(names_.nodes.size());
        const auto [at, is_new] = nodes_.try_emplace({node, *frame}, next);
        if (is_new) {
            names_.nodes.push_back({node, *frame});
        }
        node = at->second;
    }
    return node;
}

}  // namespace peakline::report
