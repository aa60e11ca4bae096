#include "block_keys.h"

#include <algorithm>
#include <utility>

#include "report/replay/blocks/block_groups.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {

BlockKeys::BlockKeys(std::vector<const Grouping*> keys, size_t row_key_count, StackLookup& stacks)
    : keys_(std::move(keys)), row_key_count_(row_key_count), stacks_(stacks) {
    // Number 0 is for groups that nobody followed.
    facets_.of(std::vector<Facet>(keys_.size()));
}

bool BlockKeys::follow_blocks() const {
    return std::any_of(keys_.begin(), keys_.end(), [](const Grouping* grouping) {
        return grouping->facet != nullptr;
    });
}

bool BlockKeys::read_tensors() const {
    return std::any_of(keys_.begin(), keys_.end(), [](const Grouping* grouping) {
        return grouping->reads_tensors;
    });
}

// For a moment before the kept events, only groups are known.
void BlockKeys::group_kept(FacetsOfBlocks& facets, LiveBlocks* blocks) const {
    for (const Grouping* const key : keys_) {
        if (key->needs_lives && !blocks->groups.empty()) {
            throw TraceError(
                std::string("--by ") + key->name +
                ": the moment lies before the events that this trace keeps, and "
                "the lives of single blocks are known only from there on: use --by line, "
                "module or category, or record with --keep all");
        }
    }
    for (BlockGroup& group : blocks->groups) {
        TrackedBlock any_of_it = {0, group};
        any_of_it.facts.is_restored = true;
        group.facets = facets.of(any_of_it);
    }
}

void BlockKeys::group(const PhaseTable& phases, LiveBlocks* blocks) {
    FacetsOfBlocks facets(*this, phases);
    if (blocks->blocks.empty()) {
        group_kept(facets, blocks);
        return;
    }
    BlockGroups groups;
    for (TrackedBlock& block : blocks->blocks) {
        block.block.facets = facets.of(block);
        groups.add(block.ordinal, block.block);
    }
    blocks->groups = groups.list();
}

FacetsOfBlocks::FacetsOfBlocks(BlockKeys& keys, const PhaseTable& phases)
    : keys_(keys),
      histories_(phases, keys.stacks().phase_rules()),
      help_{keys.stacks(), histories_},
      facets_(keys.keys_.size()) {}

uint32_t FacetsOfBlocks::of(const TrackedBlock& block) {
    const BlockHistory history = histories_.of(block);
    for (size_t key = 0; key < facets_.size(); ++key) {
        FacetOfBlock* const facet = keys_.keys_[key]->facet;
        facets_[key] = facet != nullptr ? facet(block, history, help_) : Facet();
    }
    return keys_.facets_.of(facets_);
}

BlockRow BlockKeys::row_of(size_t key, const BlockGroup& group) const {
    BlockGroup with_facet = group;
    with_facet.facet = facets_.items()[group.facets][key];
    return keys_[key]->row_of(stacks_, with_facet);
}

KeyedRow BlockKeys::keyed_row(const BlockGroup& group) const {
    KeyedRow row;
    for (size_t key = 0; key < row_key_count_; ++key) {
        BlockRow keyed = row_of(key, group);
        row.labels.push_back(std::move(keyed.label));
        row.through_forward = row.through_forward || keyed.through_forward;
        row.via = row.via.empty() ? std::move(keyed.via) : row.via;
        row.caller = row.caller.empty() ? std::move(keyed.caller) : row.caller;
    }
    return row;
}

}  // namespace peakline::report
