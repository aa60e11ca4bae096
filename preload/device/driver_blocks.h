// What the driver has given and not taken back, by key. An index with open addressing in mapped
// memory; a caller's lock guards it. Never calls malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/format/events.h"
#include "allocator/record/tables/mapped_array.h"

namespace peakline::preload {

struct DriverBlock {
    uint64_t key;    // in its space, see PeaklineKeySpace
    uint64_t bytes;  // 0: none of this process, or not known
    uint64_t owner;  // as in format::DriverAlloc
    uint32_t context;
    uint32_t stream;
    // Of physical memory, which lives as long as one of both.
    uint32_t handles;
    uint32_t mappings;
    uint8_t space;  // PeaklineKeySpace
    uint8_t kind;   // format::DriverKind
    uint8_t device;
    uint8_t flags;      // format::DriverAllocFlags
    uint32_t made_for;  // string, see format::MadeFor; 0: not known
    uint32_t is_used;   // in the index

    format::DriverKind driver_kind() const { return static_cast<format::DriverKind>(kind); }
};

class DriverBlocks {
public:
    bool init() { return grow(kFirstSlots); }

    // nullptr: none. Valid until the next insert or erase.
    DriverBlock* find(uint32_t space, uint64_t key) {
        const size_t slot = slot_of(space, key);
        return slots_[slot].is_used != 0 ? &slots_[slot] : nullptr;
    }
    // Instead of one with the same key: its end was not seen. False when there is no memory.
    bool insert(const DriverBlock& block);
    void erase(DriverBlock* block);
    void clear();

    template <class Visit>
    void for_each(Visit visit) const {
        for (const DriverBlock& block : slots_) {
            if (block.is_used != 0) {
                visit(block);
            }
        }
    }
    // Erases those that `is_chosen` says, after `visit`.
    template <class IsChosen, class Visit>
    void erase_if(IsChosen is_chosen, Visit visit) {
        for (size_t i = 0; i < slots_.size();) {
            DriverBlock& block = slots_[i];
            if (block.is_used != 0 && is_chosen(block)) {
                visit(block);
                erase(&block);  // another may stand here now
            } else {
                ++i;
            }
        }
    }

private:
    static constexpr size_t kFirstSlots = 1024;

    static size_t hash_of(uint32_t space, uint64_t key) {
        return static_cast<size_t>(((key >> 4U) + space) * 0x9E3779B97F4A7C15ULL >> 20U);
    }
    // Of the block, or the free one where it belongs.
    size_t slot_of(uint32_t space, uint64_t key) const;
    bool grow(size_t slot_count);

    record::MappedArray<DriverBlock> slots_;
    size_t size_ = 0;
};

}  // namespace peakline::preload
