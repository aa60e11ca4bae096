// Blocks, pools and calls; requests are in model_requests.cpp.
#include "allocator_model.h"

#include <algorithm>
#include <bit>

namespace peakline::report {

AllocatorModel::AllocatorModel(const Setup& setup, ModelDevice& device)
    : rules_(setup.rules),
      device_bytes_(setup.device_bytes),
      device_(device),
      block_of_(setup.max_alloc_count) {
    pools_.emplace_back(false, kNoIndex, &nodes_);
    pools_.emplace_back(true, kNoIndex, &nodes_);
    set_settings(setup.settings);
    if (setup.settings.memory_fraction != 0) {
        fraction_ = setup.settings.memory_fraction;
    }
}

// A settings text at run time keeps the large segment size and the kind of segments if it does not
// name them. A memory fraction has no effect on a device in use.
void AllocatorModel::set_settings(const AllocatorSettings& settings) {
    const bool is_first = settings_.text.empty() && counts_.device_allocs == 0;
    const AllocatorSettings before = settings_;
    settings_ = settings;
    const auto names = [&](const char* key) {
        return settings.text.find(key) != std::string::npos;
    };
    if (!is_first && !names("expandable_segments:")) {
        settings_.is_expandable = before.is_expandable;
    }
    if (!is_first && !names("large_segment_size_mb")) {
        settings_.large_segment_bytes = before.large_segment_bytes;
    }
}

// ---- blocks

FreeKey AllocatorModel::key_of(ModelIndex index) const {
    const ModelBlock& block = blocks_[index];
    return {block.stream, block.bytes, block.address, order_of(block), index};
}

void AllocatorModel::put(ModelIndex index) {
    ModelPool& pool = pools_[blocks_[index].pool];
    blocks_[index].put_at_search = pool.search_count;
    pool.blocks.insert(key_of(index));
}

void AllocatorModel::take(ModelIndex index) {
    pools_[blocks_[index].pool].blocks.erase(key_of(index));
}

void AllocatorModel::put_unmapped(ModelIndex index) {
    const ModelBlock& block = blocks_[index];
    pools_[block.pool].unmapped.insert({block.stream, block.address, index});
}

void AllocatorModel::take_unmapped(ModelIndex index) {
    const ModelBlock& block = blocks_[index];
    pools_[block.pool].unmapped.erase({block.stream, block.address, index});
}

void AllocatorModel::link(ModelIndex index, ModelIndex before, ModelIndex after) {
    blocks_[index].before = before;
    blocks_[index].after = after;
    if (before != kNoIndex) {
        blocks_[before].after = index;
    }
    if (after != kNoIndex) {
        blocks_[after].before = index;
    }
}

// `into` is in no pool.
void AllocatorModel::merge(ModelIndex into, ModelIndex other) {
    if (other == kNoIndex || !blocks_[other].is_free() ||
        blocks_[other].is_mapped != blocks_[into].is_mapped) {
        return;
    }
    if (blocks_[other].is_mapped) {
        take(other);
    } else {
        take_unmapped(other);
    }
    const bool is_before = blocks_[into].before == other;
    if (is_before) {
        blocks_[into].address = blocks_[other].address;
    }
    link(into,
         is_before ? blocks_[other].before : blocks_[into].before,
         is_before ? blocks_[into].after : blocks_[other].after);
    blocks_[into].bytes += blocks_[other].bytes;
    blocks_.remove(other);
}

void AllocatorModel::free_block(ModelIndex index) {
    blocks_[index].is_waiting = false;
    merge(index, blocks_[index].before);
    merge(index, blocks_[index].after);
    put(index);
}

ModelIndex AllocatorModel::split(ModelIndex index, uint64_t bytes) {
    ModelBlock first = blocks_[index];
    first.bytes = bytes;
    const ModelIndex made = blocks_.add(first);
    link(made, first.before, index);
    blocks_[index].address += bytes;
    blocks_[index].bytes -= bytes;
    put(index);
    return made;
}

void AllocatorModel::free_requested(uint64_t ordinal) {
    const uint32_t entry = block_of_.at(ordinal);
    if (entry == 0) {
        return;
    }
    ModelBlock& block = blocks_[static_cast<ModelIndex>(entry - 1)];
    if (block.is_allocated) {
        block.is_allocated = false;
        block.is_waiting = true;
        waiting_.insert(ordinal);
    }
}

void AllocatorModel::free_completed(uint64_t ordinal) {
    const uint32_t entry = block_of_.at(ordinal);
    if (entry == 0) {
        return;
    }
    const auto index = static_cast<ModelIndex>(entry - 1);
    if (blocks_[index].is_waiting) {
        waiting_.erase(ordinal);
    }
    blocks_[index].is_allocated = false;
    block_of_.remove(ordinal);
    free_block(index);
}

void AllocatorModel::free(uint64_t ordinal) {
    const uint32_t entry = block_of_.at(ordinal);
    if (entry != 0 && blocks_[static_cast<ModelIndex>(entry - 1)].is_waiting) {
        free_completed(ordinal);
    } else if (entry != 0) {
        const auto index = static_cast<ModelIndex>(entry - 1);
        blocks_[index].is_allocated = false;
        block_of_.remove(ordinal);
        free_block(index);
    }
}

// ---- pools

uint32_t AllocatorModel::pool_of(uint64_t rounded_bytes, ModelIndex owner) const {
    const auto first = static_cast<uint32_t>(2 * (owner + 1));
    return first + (rounded_bytes <= kMostSmallBytes ? 1 : 0);
}

ModelIndex AllocatorModel::find_private_pool(uint64_t number) const {
    const auto found = private_by_number_.find(number);
    const bool is_there = found != private_by_number_.end() &&
                          private_pools_[static_cast<size_t>(found->second)].is_alive;
    return is_there ? found->second : kNoIndex;
}

ModelIndex AllocatorModel::private_pool(uint64_t number) {
    if (number == 0) {
        return kNoIndex;
    }
    ModelIndex found = find_private_pool(number);
    if (found == kNoIndex) {
        found = static_cast<ModelIndex>(private_pools_.size());
        private_pools_.push_back({number});
        private_by_number_[number] = found;
        pools_.emplace_back(false, found, &nodes_);
        pools_.emplace_back(true, found, &nodes_);
    }
    return found;
}

PrivatePool* AllocatorModel::owner_of(uint32_t pool) {
    const ModelIndex owner = pools_[pool].owner;
    return owner != kNoIndex ? &private_pools_[static_cast<size_t>(owner)] : nullptr;
}

void AllocatorModel::apply(const format::AllocatorCall& call) {
    using Action = format::AllocatorAction;
    const bool makes = call.action == Action::kPoolCreated || call.action == Action::kRoutingBegun;
    const ModelIndex index = makes ? private_pool(call.pool) : find_private_pool(call.pool);
    PrivatePool* const pool =
        index != kNoIndex ? &private_pools_[static_cast<size_t>(index)] : nullptr;
    switch (call.action) {
        case Action::kCaptureBegun:
            ++capture_count_;
            return;
        case Action::kCaptureEnded:
            capture_count_ -= capture_count_ != 0 ? 1 : 0;
            return;
        case Action::kRoutingEnded:
            routing_count_ -= routing_count_ != 0 ? 1 : 0;
            return;
        case Action::kFractionSet:
            fraction_ = std::bit_cast<double>(call.value);
            return;
        case Action::kCacheEmptied:
            if (call.pool == 0) {
                release_cached();
            } else if (pool != nullptr) {
                release_private(index);
            }
            return;
        default:
            break;
    }
    if (pool != nullptr) {
        routing_count_ += call.action == Action::kRoutingBegun ? 1 : 0;
        change_pool(call, pool);
    }
}

void AllocatorModel::change_pool(const format::AllocatorCall& call, PrivatePool* pool) {
    using Action = format::AllocatorAction;
    switch (call.action) {
        case Action::kPoolCreated:
            pool->has_own_allocator = pool->has_own_allocator || call.value != 0;
            [[fallthrough]];
        case Action::kRoutingBegun:
            ++pool->owner_count;
            pool->is_released = false;
            break;
        case Action::kPoolReleased:
            pool->owner_count -= pool->owner_count != 0 ? 1 : 0;
            pool->is_released = pool->owner_count == 0;
            break;
        case Action::kServingSet:
            pool->serves_others = call.value != 0;
            break;
        case Action::kSplittingEnded:
            pool->is_never_split = true;
            break;
        default:
            break;
    }
}

uint64_t AllocatorModel::allowed_bytes() const {
    return fraction_ < 1 ? static_cast<uint64_t>(fraction_ * static_cast<double>(device_bytes_))
                         : AllocatorSettings::kNoLimit;
}

void AllocatorModel::report(format::SegmentAction action, const ModelBlock& block) {
    const PrivatePool* const owner = owner_of(block.pool);
    const SegmentChange change{
        action, block.address, block.bytes, block.stream, owner != nullptr ? owner->number : 0};
    if (change.grows()) {
        counts_.reserved_bytes += block.bytes;
        counts_.reserved_peak_bytes = std::max(counts_.reserved_peak_bytes, counts_.reserved_bytes);
        ++counts_.device_allocs;
    } else {
        counts_.reserved_bytes -= block.bytes;
        ++counts_.device_frees;
    }
    device_.changed(change);
}

}  // namespace peakline::report
