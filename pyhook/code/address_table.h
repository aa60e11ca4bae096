// A hash table of entries that are known by an address: open addressing in mapped memory. Not
// thread safe: its owner guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "allocator/record/tables/mapped_memory.h"

namespace peakline::pyhook {

// `Entry` has a field uint64_t address, 0 in a free one, and is zero to begin with. The table has
// 2^kBits slots, of which at most three quarters are used.
template <class Entry, unsigned kBits>
class AddressTable {
    static_assert(std::is_trivially_copyable_v<Entry>);

public:
    // Maps the memory. Once, before the other functions.
    bool init() {
        entries_ = static_cast<Entry*>(record::map_zeroed(kSlots * sizeof(Entry)));
        return is_ready();
    }
    bool is_ready() const { return entries_ != nullptr; }

    bool is_full() const { return used_ == kSlots / 4 * 3; }

    // The entry, or the free one where it would go.
    Entry* find(uint64_t address) {
        size_t i = home_of(address);
        while (entries_[i].address != 0 && entries_[i].address != address) {
            i = (i + 1) % kSlots;
        }
        return &entries_[i];
    }

    // `slot` comes from find(entry.address); a free one needs a table that is not full.
    void put(Entry* slot, const Entry& entry) {
        used_ += slot->address == 0 ? 1 : 0;
        *slot = entry;
    }

    // Closes the gap, so that no search ends too early.
    void remove(Entry* entry) {
        auto gap = static_cast<size_t>(entry - entries_);
        for (size_t i = (gap + 1) % kSlots; entries_[i].address != 0; i = (i + 1) % kSlots) {
            const size_t distance_to_home = (i - home_of(entries_[i].address)) % kSlots;
            if (distance_to_home >= (i - gap) % kSlots) {
                entries_[gap] = entries_[i];
                gap = i;
            }
        }
        entries_[gap] = Entry{};
        --used_;
    }

    Entry* begin() { return entries_; }
    Entry* end() { return entries_ + kSlots; }

private:
    static constexpr size_t kSlots = size_t{1} << kBits;

    static size_t home_of(uint64_t address) {
        return (address >> 4) * 0x9E3779B97F4A7C15U >> (64 - kBits);
    }

    // Not unmapped: objects die and threads capture until the process is gone.
    Entry* entries_ = nullptr;
    size_t used_ = 0;
};

}  // namespace peakline::pyhook
