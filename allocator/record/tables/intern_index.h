// Finds the id of an equal record: hash -> ids, growing, in mapped memory. The records themselves
// stand in the caller's array; the caller compares. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mapped_array.h"

namespace peakline::record {

class InternIndex {
public:
    bool init() { return rehash(1024); }

    // `is_equal(id)` says whether the record with this id is the one looked for. 0: absent, as all
    // are before init() and in a fork child's zeros.
    template <class IsEqual>
    uint32_t find(uint64_t hash, IsEqual is_equal) const {
        if (slots_.data() == nullptr) {
            return 0;
        }
        const uint32_t tag = tag_of(hash);
        for (size_t i = hash & mask_; slots_[i].id != 0; i = (i + 1) & mask_) {
            if (slots_[i].tag == tag && is_equal(slots_[i].id)) {
                return slots_[i].id;
            }
        }
        return 0;
    }

    // Adds an id (from 1) that find() did not find. False when memory ran out.
    bool insert(uint64_t hash, uint32_t id) {
        if ((used_ + 1) * 2 > slots_.size() && !rehash(slots_.size() * 2)) {
            return false;
        }
        place(slots_, mask_, Slot{hash, tag_of(hash), id});
        ++used_;
        return true;
    }

private:
    struct Slot {
        uint64_t hash;
        uint32_t tag;
        uint32_t id;
    };

    static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
    static void place(MappedArray<Slot>& slots, size_t mask, const Slot& slot) {
        size_t i = slot.hash & mask;
        while (slots[i].id != 0) {
            i = (i + 1) & mask;
        }
        slots[i] = slot;
    }

    bool rehash(size_t slot_count) {
        MappedArray<Slot> grown;
        if (!grown.reserve(slot_count) || !grown.resize_untouched(slot_count)) {
            return false;
        }
        for (const Slot& slot : slots_) {
            if (slot.id != 0) {
                place(grown, slot_count - 1, slot);
            }
        }
        slots_.swap(grown);
        mask_ = slot_count - 1;
        return true;
    }

    MappedArray<Slot> slots_;
    size_t mask_ = 0;
    size_t used_ = 0;
};

}  // namespace peakline::record
