#include "block_texts.h"

#include "report/attribute/operators/operator_search.h"

namespace peakline::report {

const Label& GroupingTexts::of(const TrackedBlock& block, const BlockHistory& history) {
    BlockGroup group = block.block;
    group.facet = grouping_.facet != nullptr ? grouping_.facet(block, history, help_) : group.facet;
    const std::tuple key{group.context, group.stream, group.device, group.tensor, group.facet};
    const auto [at, is_new] = labels_.try_emplace(key);
    if (is_new) {
        at->second = grouping_.row_of(stacks_, group).label;
    }
    return at->second;
}

const Label& BlockTexts::saved_by(const TrackedBlock& block) {
    const auto [at, is_new] = savers_.try_emplace(block.facts.saved_context);
    if (is_new && block.facts.saved_context != 0) {
        BlockGroup saved;
        saved.context = block.facts.saved_context;
        const std::string name = operator_of(help_.stacks, saved.context);
        at->second = name.empty() ? row_by_line(help_.stacks, saved).label : named_row(name).label;
    }
    return at->second;
}

}  // namespace peakline::report
