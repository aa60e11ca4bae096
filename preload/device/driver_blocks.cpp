#include "driver_blocks.h"

namespace peakline::preload {

size_t DriverBlocks::slot_of(uint32_t space, uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = hash_of(space, key) & mask;
    while (slots_[slot].is_used != 0 && (slots_[slot].key != key || slots_[slot].space != space)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

bool DriverBlocks::insert(const DriverBlock& block) {
    if ((size_ + 1) * 2 > slots_.size() && !grow(slots_.size() * 2)) {
        return false;
    }
    DriverBlock& slot = slots_[slot_of(block.space, block.key)];
    size_ += slot.is_used != 0 ? 0 : 1;
    slot = block;
    slot.is_used = 1;
    return true;
}

// Those behind it move up, so that every block is found from where it belongs.
void DriverBlocks::erase(DriverBlock* block) {
    const size_t mask = slots_.size() - 1;
    auto hole = static_cast<size_t>(block - slots_.data());
    for (size_t at = (hole + 1) & mask; slots_[at].is_used != 0; at = (at + 1) & mask) {
        const size_t home = hash_of(slots_[at].space, slots_[at].key) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            slots_[hole] = slots_[at];
            hole = at;
        }
    }
    slots_[hole].is_used = 0;
    --size_;
}

void DriverBlocks::clear() {
    for (DriverBlock& slot : slots_) {
        slot.is_used = 0;
    }
    size_ = 0;
}

bool DriverBlocks::grow(size_t slot_count) {
    record::MappedArray<DriverBlock> slots;
    if (!slots.reserve(slot_count) || !slots.resize_untouched(slot_count)) {
        return false;
    }
    slots_.swap(slots);
    for (const DriverBlock& block : slots) {
        if (block.is_used != 0) {
            slots_[slot_of(block.space, block.key)] = block;
        }
    }
    return true;
}

}  // namespace peakline::preload
