#include "block_texts.h"

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

}  // namespace peakline::report
