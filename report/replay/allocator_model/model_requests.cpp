// Serves requests. See Note [What torch does].
#include <utility>

#include "allocator_model.h"

namespace peakline::report {

std::optional<ModelRange> AllocatorModel::allocate(const ModelRequest& request) {
    const uint64_t rounded = settings_.round_up(request.requested_bytes);
    Search search{pool_of(rounded, private_pool(request.pool)), request.stream, rounded};
    ModelIndex index = find_free(search, settings_.is_expandable);
    if (index == kNoIndex) {
        if (collects()) {
            collect_garbage();
        }
        index = grow_or_release(search);
    }
    if (index == kNoIndex) {
        ++counts_.out_of_memory;
        return std::nullopt;
    }
    if (must_split(blocks_[index], search)) {
        index = split(index, rounded);
    }
    return hand_out(index, request);
}

ModelRange AllocatorModel::hand_out(ModelIndex index, const ModelRequest& request) {
    ModelBlock& block = blocks_[index];
    block.is_allocated = true;
    block.ordinal = request.ordinal;
    block_of_.put(request.ordinal, static_cast<uint32_t>(index) + 1);
    return {block.address, block.bytes};
}

std::optional<ModelRange> AllocatorModel::restore(const ModelRequest& request, uint64_t address) {
    const ModelIndex owner = private_pool(request.pool);
    const uint32_t first = pool_of(kMostSmallBytes + 1, owner);
    for (uint32_t pool = first; pool < first + 2; ++pool) {
        for (const FreeKey& key : pools_[pool].blocks) {
            if (key.address != address || key.stream != request.stream ||
                key.bytes < request.requested_bytes) {
                continue;
            }
            ModelIndex index = key.block;
            take(index);
            // `requested_bytes` is here the size of the restored block.
            if (blocks_[index].bytes > request.requested_bytes) {
                index = split(index, request.requested_bytes);
            }
            return hand_out(index, request);
        }
    }
    return std::nullopt;
}

bool AllocatorModel::has_cached(const ModelRequest& request) const {
    const uint64_t rounded = settings_.round_up(request.requested_bytes);
    const auto& blocks = pools_[pool_of(rounded, find_private_pool(request.pool))].blocks;
    const auto at = blocks.lower_bound({request.stream, rounded, 0, 0, kNoIndex});
    return at != blocks.end() && at->stream == request.stream;
}

// Includes the address space after the block, which it may grow into.
uint64_t AllocatorModel::expandable_bytes(ModelIndex index) const {
    const ModelIndex after = blocks_[index].after;
    return blocks_[index].bytes +
           (after != kNoIndex && !blocks_[after].is_mapped ? blocks_[after].bytes : 0);
}

std::pmr::set<FreeKey>::iterator AllocatorModel::skip_expandable(
    const Search& search, std::pmr::set<FreeKey>::iterator at) {
    auto& blocks = pools_[search.pool].blocks;
    while (at != blocks.end() && at->stream == search.stream &&
           blocks_[at->block].expandable != kNoIndex) {
        ++at;
    }
    return at != blocks.end() && at->stream == search.stream ? at : blocks.end();
}

ModelIndex AllocatorModel::find_free(const Search& search, bool use_expandable) {
    ModelPool& pool = pools_[search.pool];
    pool.search_count += collects() ? 1 : 0;
    auto at = pool.blocks.lower_bound({search.stream, search.bytes, 0, 0, kNoIndex});
    if (at == pool.blocks.end() || at->stream != search.stream) {
        return kNoIndex;
    }
    if (blocks_[at->block].expandable != kNoIndex) {
        if (use_expandable) {
            // Skips blocks that leave more room to grow than the next one.
            for (auto next = std::next(at);
                 blocks_[at->block].expandable != kNoIndex && next != pool.blocks.end() &&
                 next->stream == search.stream &&
                 expandable_bytes(next->block) < expandable_bytes(at->block);
                 ++next) {
                at = next;
            }
        } else {
            at = skip_expandable(search, at);
            if (at == pool.blocks.end()) {
                return kNoIndex;
            }
        }
    }
    const uint64_t limit = settings_.max_split_bytes;
    const bool is_refused = search.bytes < limit
                                ? at->bytes >= limit
                                : at->bytes >= search.bytes + settings_.non_split_rounding();
    if (is_refused) {
        return kNoIndex;
    }
    const ModelIndex found = at->block;
    pool.blocks.erase(at);
    return found;
}

bool AllocatorModel::must_split(const ModelBlock& block, const Search& search) const {
    const ModelPool& pool = pools_[search.pool];
    if (pool.owner != kNoIndex && private_pools_[static_cast<size_t>(pool.owner)].is_never_split) {
        return false;
    }
    const uint64_t rest = block.bytes - search.bytes;
    if (pool.is_small || settings_.is_expandable) {
        return rest >= kLeastBlockBytes;
    }
    return search.bytes < settings_.max_split_bytes && rest > kMostSmallBytes;
}

// Obtains a segment for the request; kNoIndex: the device or the fraction refuses.
ModelIndex AllocatorModel::grow(const Search& search) {
    const uint64_t bytes = settings_.segment_bytes(search.bytes);
    if (fraction_ < 1 && counts_.reserved_bytes + bytes > allowed_bytes()) {
        return kNoIndex;
    }
    PrivatePool* const owner = owner_of(search.pool);
    if (settings_.is_expandable && (owner == nullptr || !owner->has_own_allocator)) {
        const ModelIndex index = grow_expandable(search);
        if (index != kNoIndex && owner != nullptr) {
            ++owner->segment_count;
        }
        return index;
    }
    const std::optional<uint64_t> address =
        device_.allocate({format::SegmentAction::kAlloc,
                          0,
                          bytes,
                          search.stream,
                          owner != nullptr ? owner->number : 0});
    if (!address.has_value()) {
        return kNoIndex;
    }
    if (owner != nullptr) {
        ++owner->segment_count;
    }
    ModelBlock block;
    block.address = *address;
    block.bytes = bytes;
    block.stream = search.stream;
    block.pool = search.pool;
    block.segment_number = ++segment_count_;
    const ModelIndex index = blocks_.add(block);
    report(format::SegmentAction::kAlloc, block);
    return index;
}

// Sets `search.pool` to the pool of the block.
ModelIndex AllocatorModel::grow_or_release(Search& search) {
    ModelIndex index = grow(search);
    if (index == kNoIndex) {
        index = find_in_serving_pools(search);
    }
    if (index == kNoIndex && release_oversize(search)) {
        index = grow(search);
    }
    if (index == kNoIndex && may_retry()) {
        ++counts_.retries;
        release_cached();
        index = grow(search);
    }
    return index;
}

ModelIndex AllocatorModel::find_in_serving_pools(Search& search) {
    if (pools_[search.pool].owner != kNoIndex) {
        return kNoIndex;
    }
    for (size_t i = 0; i < private_pools_.size(); ++i) {
        if (!private_pools_[i].is_alive || !private_pools_[i].serves_others) {
            continue;
        }
        Search other = search;
        other.pool = pool_of(search.bytes, static_cast<ModelIndex>(i));
        const ModelIndex index = find_free(other, false);
        if (index != kNoIndex) {
            search = other;
            return index;
        }
    }
    return kNoIndex;
}

bool AllocatorModel::may_retry() const {
    return capture_count_ == 0 &&
           (rules_.no_retry == AllocatorRules::NoRetry::kWhileCapturing || routing_count_ == 0);
}

}  // namespace peakline::report
