// Sums up allocations by context, stream, device and size, and collects names of phases, from
// either source. Used only by the two ways to count a whole trace.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocation_totals.h"
#include "allocator/record/tables/mix64.h"

namespace peakline::report {

struct SumKey {
    uint32_t context;
    uint32_t stream;
    uint32_t device;
    bool operator==(const SumKey&) const = default;
};

struct SumKeyHash {
    size_t operator()(const SumKey& key) const {
        return record::mix64(uint64_t{key.context} << 32 ^ uint64_t{key.stream} << 8 ^ key.device);
    }
};

class AllocationSums {
public:
    void add(const AllocationShape& shape, uint64_t count) {
        add_sum({shape.context,
                 shape.stream,
                 shape.device,
                 count,
                 count * shape.requested_bytes,
                 count * shape.block_bytes});
        requested_sizes_[static_cast<size_t>(std::bit_width(shape.requested_bytes))] += count;
        block_sizes_[static_cast<size_t>(std::bit_width(shape.block_bytes))] += count;
    }

    void add_sum(const AllocationSum& other) {
        AllocationSum& sum = sums_[{other.context, other.stream, other.device}];
        sum.count += other.count;
        sum.requested_bytes += other.requested_bytes;
        sum.block_bytes += other.block_bytes;
    }

    void add_sizes(const SizeHistogram& requested, const SizeHistogram& block) {
        for (size_t i = 0; i < requested.size(); ++i) {
            requested_sizes_[i] += requested[i];
            block_sizes_[i] += block[i];
        }
    }

    void add_phase_name(std::string_view name) {
        if (phases_.size() < format::kMaxPhaseNames &&
            std::find(phases_.begin(), phases_.end(), name) == phases_.end()) {
            phases_.emplace_back(name);
        }
    }

    void move_to(AllocationTotals* result) {
        for (auto& [key, sum] : sums_) {
            sum.context = key.context;
            sum.stream = key.stream;
            sum.device = key.device;
            result->sums.push_back(sum);
        }
        result->requested_sizes = requested_sizes_;
        result->block_sizes = block_sizes_;
        result->phases = std::move(phases_);
    }

private:
    std::unordered_map<SumKey, AllocationSum, SumKeyHash> sums_;
    SizeHistogram requested_sizes_ = {};
    SizeHistogram block_sizes_ = {};
    std::vector<std::string> phases_;
};

}  // namespace peakline::report
