// Expandable segments: address space that memory is mapped into, unit by unit.
#include <algorithm>

#include "allocator_model.h"

namespace peakline::report {
namespace {

constexpr uint64_t kUnknownDeviceBytes = uint64_t{1} << 40;  // more than any device has

uint64_t round_to(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

}  // namespace

ModelIndex AllocatorModel::grow_expandable(const Search& search) {
    ModelIndex index = find_expandable(search);
    if (index == kNoIndex) {
        return kNoIndex;
    }
    if (!blocks_[index].is_mapped && !map(index, std::min(blocks_[index].bytes, search.bytes))) {
        return kNoIndex;
    }
    // The mapped memory joins its free neighbours: the block grows.
    while (blocks_[index].bytes < search.bytes) {
        const ModelIndex next = blocks_[index].after;
        const uint64_t missing = search.bytes - blocks_[index].bytes;
        if (!map(next, std::min(missing, blocks_[next].bytes))) {
            return kNoIndex;
        }
        index = next;
    }
    take(index);
    return index;
}

// Finds the lowest free address range that is large enough, together with the free block before it;
// else a new segment. kNoIndex: the request is larger than any segment.
ModelIndex AllocatorModel::find_expandable(const Search& search) {
    ModelPool& pool = pools_[search.pool];
    const auto is_free = [&](ModelIndex index) {
        return index != kNoIndex && blocks_[index].is_free();
    };
    for (auto at = pool.unmapped.lower_bound({search.stream, 0, kNoIndex});
         at != pool.unmapped.end() && at->stream == search.stream;
         ++at) {
        ModelIndex first = at->block;
        if (is_free(blocks_[first].before)) {
            first = blocks_[first].before;
        }
        uint64_t room = 0;
        for (ModelIndex i = first; room < search.bytes && is_free(i); i = blocks_[i].after) {
            room += blocks_[i].bytes;
        }
        if (room >= search.bytes) {
            return first;
        }
    }
    const uint64_t unit = pool.is_small ? kSmallSegmentBytes : settings_.large_segment_bytes;
    // torch reserves an eighth more address space than the device has memory. Imported snapshots do
    // not know the device's size: then there is always room for addresses.
    const uint64_t device_bytes = device_bytes_ != 0 ? device_bytes_ : kUnknownDeviceBytes;
    const uint64_t bytes = round_to(device_bytes + device_bytes / 8, unit);
    if (search.bytes > bytes) {
        return kNoIndex;
    }
    ModelBlock block;
    block.address = device_.reserve_addresses(bytes);
    block.bytes = bytes;
    block.stream = search.stream;
    block.pool = search.pool;
    block.segment_number = ++segment_count_;
    block.expandable = static_cast<ModelIndex>(expandable_.size());
    block.is_mapped = false;
    expandable_.push_back({block.address, unit});
    const ModelIndex index = blocks_.add(block);
    put_unmapped(index);
    return index;
}

bool AllocatorModel::map(ModelIndex index, uint64_t bytes) {
    const uint64_t unit = expandable_[static_cast<size_t>(blocks_[index].expandable)].unit_bytes;
    const uint64_t mapped = round_to(bytes, unit);
    ModelBlock piece = blocks_[index];
    piece.bytes = mapped;
    const PrivatePool* const owner = owner_of(piece.pool);
    const uint64_t number = owner != nullptr ? owner->number : 0;
    const std::optional<uint64_t> address =
        device_.map({format::SegmentAction::kMap, piece.address, mapped, piece.stream, number});
    if (!address.has_value() || (*address != piece.address && !piece.is_whole())) {
        return false;
    }
    take_unmapped(index);
    if (*address != piece.address) {
        expandable_[static_cast<size_t>(piece.expandable)].base = *address;
        blocks_[index].address = piece.address = *address;
    }
    blocks_[index].is_mapped = true;
    if (mapped < blocks_[index].bytes) {
        ModelBlock rest = blocks_[index];
        rest.address += mapped;
        rest.bytes -= mapped;
        rest.is_mapped = false;
        const ModelIndex made = blocks_.add(rest);
        link(made, index, rest.after);
        blocks_[index].bytes = mapped;
        put_unmapped(made);
    }
    merge(index, blocks_[index].before);
    merge(index, blocks_[index].after);
    put(index);
    report(format::SegmentAction::kMap, piece);
    return true;
}

// Unmaps the whole units of a free block.
void AllocatorModel::unmap(ModelIndex index) {
    const ExpandableSegment& segment = expandable_[static_cast<size_t>(blocks_[index].expandable)];
    const uint64_t unit = segment.unit_bytes;
    const ModelBlock whole = blocks_[index];
    const uint64_t begin = segment.base + round_to(whole.address - segment.base, unit);
    const uint64_t end = segment.base + (whole.address + whole.bytes - segment.base) / unit * unit;
    if (begin >= end) {
        return;
    }
    take(index);
    const auto put_rest = [&](uint64_t from, uint64_t to, bool is_before) {
        if (from == to) {
            return;
        }
        ModelBlock rest = blocks_[index];
        rest.address = from;
        rest.bytes = to - from;
        const ModelIndex made = blocks_.add(rest);
        link(made,
             is_before ? blocks_[index].before : index,
             is_before ? index : blocks_[index].after);
        put(made);
    };
    put_rest(whole.address, begin, true);
    put_rest(end, whole.address + whole.bytes, false);
    blocks_[index].address = begin;
    blocks_[index].bytes = end - begin;
    blocks_[index].is_mapped = false;
    const ModelBlock unmapped = blocks_[index];
    merge(index, blocks_[index].before);
    merge(index, blocks_[index].after);
    put_unmapped(index);
    if (PrivatePool* const owner = owner_of(unmapped.pool)) {
        --owner->segment_count;
    }
    report(format::SegmentAction::kUnmap, unmapped);
}

}  // namespace peakline::report
