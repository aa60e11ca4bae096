// Releases memory to the device: on empty_cache, on a refused request, on garbage collection.
#include <iterator>
#include <utility>

#include "allocator_model.h"

namespace peakline::report {

void AllocatorModel::release(ModelIndex index) {
    take(index);
    if (PrivatePool* const owner = owner_of(blocks_[index].pool)) {
        --owner->segment_count;
    }
    report(format::SegmentAction::kFree, blocks_[index]);
    blocks_.remove(index);
}

// Releases plain segments first.
void AllocatorModel::release_pool(uint32_t pool) {
    std::vector<ModelIndex> whole;
    std::vector<ModelIndex> expandable;
    for (const FreeKey& key : pools_[pool].blocks) {
        const ModelBlock& block = blocks_[key.block];
        if (block.expandable != kNoIndex) {
            expandable.push_back(key.block);
        } else if (block.is_whole()) {
            whole.push_back(key.block);
        }
    }
    for (const ModelIndex index : whole) {
        release(index);
    }
    for (const ModelIndex index : expandable) {
        unmap(index);
        if (!blocks_[index].is_mapped && blocks_[index].is_whole()) {
            take_unmapped(index);
            blocks_.remove(index);
        }
    }
}

// In all pools, or in the private one.
void AllocatorModel::complete_waiting(ModelIndex owner) {
    const std::vector<uint64_t> ordinals(waiting_.begin(), waiting_.end());
    for (const uint64_t ordinal : ordinals) {
        const auto index = static_cast<ModelIndex>(block_of_.at(ordinal) - 1);
        if (owner == kNoIndex || pools_[blocks_[index].pool].owner == owner) {
            free_completed(ordinal);
        }
    }
}

void AllocatorModel::release_cached() {
    if (capture_count_ == 0) {
        complete_waiting(kNoIndex);
        release_pool(0);
        release_pool(1);
    }
    for (size_t i = 0; i < private_pools_.size(); ++i) {
        const auto owner = static_cast<ModelIndex>(i);
        if (private_pools_[i].is_alive && private_pools_[i].is_released) {
            release_pool(pool_of(1, owner));
            release_pool(pool_of(kMostSmallBytes + 1, owner));
            private_pools_[i].is_alive = private_pools_[i].segment_count != 0;
        }
    }
}

// Only after every owner has released the pool.
void AllocatorModel::release_private(ModelIndex owner) {
    PrivatePool& pool = private_pools_[static_cast<size_t>(owner)];
    if (!pool.is_released) {
        return;
    }
    complete_waiting(owner);
    release_pool(pool_of(1, owner));
    release_pool(pool_of(kMostSmallBytes + 1, owner));
    pool.is_alive = pool.segment_count != 0;
}

// Releases whole segments of the default pool that were unused for at least the average time, in
// rounds until enough is free. A round always runs to its end.
void AllocatorModel::collect_garbage() {
    const auto threshold = static_cast<uint64_t>(settings_.collection_threshold *
                                                 static_cast<double>(allowed_bytes()));
    if (counts_.reserved_bytes <= threshold) {
        return;
    }
    const uint64_t wanted = counts_.reserved_bytes - threshold;
    ModelPool& pool = pools_[0];
    const auto age_of = [&](const ModelBlock& block) {
        return pool.search_count - block.put_at_search;
    };
    int64_t ages = 0;
    int64_t count = 0;
    for (const FreeKey& key : pool.blocks) {
        if (blocks_[key.block].is_whole()) {
            ages += age_of(blocks_[key.block]);
            ++count;
        }
    }
    uint64_t freed = 0;
    for (bool goes_on = true; goes_on && freed < wanted && count > 0;) {
        const double oldest = static_cast<double>(ages) / static_cast<double>(count);
        goes_on = false;
        for (auto at = pool.blocks.begin(); at != pool.blocks.end();) {
            const ModelIndex index = (at++)->block;
            const ModelBlock& block = blocks_[index];
            const int64_t age = age_of(block);
            if (block.is_whole() && block.expandable == kNoIndex &&
                static_cast<double>(age) >= oldest) {
                goes_on = true;
                freed += block.bytes;
                ages -= age;
                --count;
                release(index);
            }
        }
    }
}

// With a limit on splitting: releases the smallest block that is large enough, else the largest
// ones until their sum suffices.
bool AllocatorModel::release_oversize(const Search& search) {
    const uint64_t limit = settings_.max_split_bytes;
    if (limit == AllocatorSettings::kNoLimit) {
        return false;
    }
    auto& blocks = pools_[search.pool].blocks;
    const uint64_t wanted = std::max(search.bytes, limit);
    auto at = blocks.lower_bound({search.stream, wanted, 0, 0, kNoIndex});
    const bool is_enough = at != blocks.end() && at->stream == search.stream &&
                           blocks_[at->block].expandable == kNoIndex;
    if (is_enough) {
        release(at->block);
        return true;
    }
    uint64_t freed = 0;
    while (freed < wanted && at != blocks.begin()) {
        const auto largest = std::prev(at);
        if (largest->stream != search.stream || largest->bytes < limit) {
            break;
        }
        const ModelIndex index = largest->block;
        if (blocks_[index].expandable != kNoIndex) {
            at = largest;
            continue;
        }
        freed += largest->bytes;
        release(index);  // `at` stays valid: it is already past this block
    }
    return freed >= wanted;
}

}  // namespace peakline::report
