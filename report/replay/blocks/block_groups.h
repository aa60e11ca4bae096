// Collects live blocks. Equal ones become one group, unless each is kept alone. Groups are ordered
// by context.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "report/replay/values/replay_result.h"

namespace peakline::report {

class BlockGroups {
public:
    explicit BlockGroups(Detail detail = Detail::kGroups) : detail_(detail) {}

    // Ignores `block.count`.
    void add(uint64_t ordinal, const BlockGroup& block) {
        if (detail_ == Detail::kBlocks) {
            blocks_.push_back({ordinal, block});
            blocks_.back().block.count = 1;
            return;
        }
        ++counts_[{block.context,
                   block.stream,
                   block.device,
                   block.requested_bytes,
                   block.block_bytes,
                   block.tensor,
                   block.facets}];
    }

    std::vector<BlockGroup> list() const {
        std::vector<BlockGroup> groups;
        groups.reserve(counts_.size());
        for (const auto& [key, count] : counts_) {
            const auto& [context, stream, device, requested_bytes, block_bytes, tensor, facets] =
                key;
            groups.push_back(
                {context, stream, device, requested_bytes, block_bytes, count, tensor, facets});
        }
        return groups;
    }

    std::vector<TrackedBlock> take_blocks() { return std::move(blocks_); }

private:
    using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t>;

    Detail detail_;
    std::map<Key, uint64_t> counts_;
    std::vector<TrackedBlock> blocks_;
};

}  // namespace peakline::report
