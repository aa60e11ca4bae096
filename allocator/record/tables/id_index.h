// Finds the id of an equal record by its hash. The records themselves are in the caller's array;
// the caller compares. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hash_table.h"

namespace peakline::record {

class IdIndex {
public:
    // `slot_count`: a power of two. False when memory cannot be mapped.
    bool init(size_t slot_count = 1024) { return slots_.init(slot_count); }
    void clear() { slots_.clear(); }

    // The id of this hash that satisfies is_equal(id); 0: none.
    template <class IsEqual>
    uint32_t find(uint64_t hash, IsEqual is_equal) const {
        const auto low = static_cast<uint32_t>(hash);
        const Slot* const slot = slots_.find(
            low, [&](const Slot& one) { return one.low_hash == low && is_equal(one.id); });
        return slot != nullptr ? slot->id : 0;
    }
    // Adds an id (from 1) that find() did not find. False when memory ran out.
    bool add(uint64_t hash, uint32_t id) {
        return slots_.add({static_cast<uint32_t>(hash), id}) != nullptr;
    }

private:
    struct Slot {
        uint32_t low_hash;
        uint32_t id;  // 0: free
        bool is_used() const { return id != 0; }
        uint64_t hash() const { return low_hash; }
    };

    HashTable<Slot> slots_;
};

}  // namespace peakline::record
