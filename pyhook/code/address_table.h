// A hash table of entries keyed by address. Not thread safe: its owner guards it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/tables/hash_table.h"
#include "allocator/record/tables/mix64.h"

namespace peakline::pyhook {

// The beginning of an entry.
struct Addressed {
    uint64_t address;  // 0: free
    bool is_used() const { return address != 0; }
    // Objects are aligned to 16.
    uint64_t hash() const { return record::mix64(address >> 4U); }
};

template <class Entry>
class AddressTable {
public:
    // The table holds at most `most` entries.
    bool init(size_t most) {
        most_ = most;
        return entries_.init(kFirstSlots);
    }
    bool is_ready() const { return entries_.is_ready(); }

    // nullptr if absent. Valid until the next add or remove.
    Entry* find(uint64_t address) {
        return entries_.find(Addressed{address}.hash(),
                             [=](const Entry& entry) { return entry.address == address; });
    }
    bool has(uint64_t address) const {
        return const_cast<AddressTable*>(this)->find(address) != nullptr;
    }
    // Adds an entry that find() did not find. Returns nullptr if the table is full.
    Entry* add(const Entry& entry) {
        return entries_.size() < most_ ? entries_.add(entry) : nullptr;
    }
    void remove(Entry* entry) { entries_.remove(entry); }
    template <class Change>
    void change_each(Change change) {
        entries_.change_each(change);
    }

private:
    static constexpr size_t kFirstSlots = 1024;

    record::HashTable<Entry> entries_;
    size_t most_ = 0;
};

}  // namespace peakline::pyhook
