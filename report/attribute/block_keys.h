// The keys of one report: first those that make its rows, then those that select blocks. Blocks are
// followed once, however many keys need their life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "facets.h"
#include "grouping.h"
#include "report/attribute/names/numbers.h"

namespace peakline::report {

// Groups with equal fields have the same result for every key.
using GroupKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;

inline GroupKey key_of_group(const BlockGroup& group) {
    return {group.context, group.stream, group.device, group.tensor, group.facets};
}

// The combined result of the keys that make rows.
struct KeyedRow {
    std::vector<Label> labels;     // one per key
    bool through_forward = false;  // for one of the keys
    std::string via = {};          // of the first key that has one
    std::string caller = {};       // the same
};

class FacetsOfBlocks;

class BlockKeys {
public:
    // The first `row_key_count` keys make rows. `stacks` must outlive this.
    BlockKeys(std::vector<const Grouping*> keys, size_t row_key_count, StackLookup& stacks);

    size_t row_key_count() const { return row_key_count_; }
    StackLookup& stacks() const { return stacks_; }
    // Whether a key needs the life of blocks: then replay must return each separately.
    bool follow_blocks() const;
    // Whether a key needs the tensors of blocks.
    bool read_tensors() const;
    // Fills blocks->groups from blocks->blocks, and BlockGroup::facets of both.
    void group(const PhaseTable& phases, LiveBlocks* blocks);
    BlockRow row_of(size_t key, const BlockGroup& group) const;
    KeyedRow keyed_row(const BlockGroup& group) const;

private:
    friend class FacetsOfBlocks;

    void group_kept(FacetsOfBlocks& facets, LiveBlocks* blocks) const;

    std::vector<const Grouping*> keys_;
    size_t row_key_count_;
    StackLookup& stacks_;
    Numbers<std::vector<Facet>> facets_;  // of all keys; BlockGroup::facets is the number
};

// The facets of single blocks for all keys. Both arguments must outlive this.
class FacetsOfBlocks {
public:
    FacetsOfBlocks(BlockKeys& keys, const PhaseTable& phases);
    FacetsOfBlocks(const FacetsOfBlocks&) = delete;
    FacetsOfBlocks& operator=(const FacetsOfBlocks&) = delete;

    // BlockGroup::facets of this block.
    uint32_t of(const TrackedBlock& block);

private:
    BlockKeys& keys_;
    BlockHistories histories_;
    FacetHelp help_;
    std::vector<Facet> facets_;  // of the last requested block
};

}  // namespace peakline::report
