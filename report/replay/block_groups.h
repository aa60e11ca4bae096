// Collects live blocks; equal ones become one group. Order of the groups: by context.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "replay_result.h"

namespace peakline::report {

class BlockGroups {
public:
    void add(uint32_t context,
             uint32_t stream,
             uint32_t device,
             uint64_t requested_bytes,
             uint64_t block_bytes,
             uint32_t tensor) {
        ++counts_[{context, stream, device, requested_bytes, block_bytes, tensor}];
    }

    std::vector<BlockGroup> list() const {
        std::vector<BlockGroup> groups;
        groups.reserve(counts_.size());
        for (const auto& [key, count] : counts_) {
            const auto& [context, stream, device, requested_bytes, block_bytes, tensor] = key;
            groups.push_back(
                {context, stream, device, requested_bytes, block_bytes, count, tensor});
        }
        return groups;
    }

private:
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint32_t>, uint64_t>
        counts_;
};

}  // namespace peakline::report
