// The hash table of the code inside the program: open addressing and linear probing in mapped
// memory, at most half full. Never calls malloc. Not thread safe: its owner guards it. Memory of
// zeros is an empty table that finds and keeps nothing.
//
// Not used for tables that several threads read without a lock (RawStackCache, the rules of
// unwind_rules.h) or that evict entries (EntryNumbers, StackMemo).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mapped_array.h"

namespace peakline::record {

// Slot: an entry of the table; zeros are a free one. It has
//   bool is_used() const;
//   uint64_t hash() const;   its low bits choose the position
template <class Slot>
class HashTable {
    static_assert(std::is_trivially_copyable_v<Slot>);

public:
    // Empties the table. `slot_count`: a power of two; the table grows. False if memory cannot be
    // mapped.
    bool init(size_t slot_count) {
        MappedArray<Slot> fresh;
        if (!fresh.reserve(slot_count) || !fresh.resize_untouched(slot_count)) {
            return false;
        }
        slots_.swap(fresh);
        mask_ = slot_count - 1;
        size_ = 0;
        return true;
    }
    void clear() {
        std::memset(static_cast<void*>(slots_.data()), 0, slots_.size() * sizeof(Slot));
        size_ = 0;
    }
    bool is_ready() const { return slots_.data() != nullptr; }
    size_t size() const { return size_; }

    // The slot with this hash that satisfies is_it(slot); nullptr: none. Valid until add or remove.
    template <class IsIt>
    Slot* find(uint64_t hash, IsIt is_it) {
        return const_cast<Slot*>(static_cast<const HashTable*>(this)->find(hash, is_it));
    }
    template <class IsIt>
    const Slot* find(uint64_t hash, IsIt is_it) const {
        if (!is_ready()) {
            return nullptr;
        }
        for (size_t i = hash & mask_; slots_[i].is_used(); i = next(i)) {
            if (is_it(slots_[i])) {
                return &slots_[i];
            }
        }
        return nullptr;
    }

    // Adds a slot that find() did not find. nullptr, without a change, if memory ran out.
    Slot* add(const Slot& slot) {
        return (size_ + 1) * 2 > slots_.size() && !grow_slow() ? nullptr : put(slot);
    }

    // Moves later slots of the run up, so that no search ends too early.
    void remove(Slot* slot) {
        auto hole = static_cast<size_t>(slot - slots_.data());
        for (size_t i = next(hole); slots_[i].is_used(); i = next(i)) {
            if (((i - slots_[i].hash()) & mask_) >= ((i - hole) & mask_)) {
                slots_[hole] = slots_[i];
                hole = i;
            }
        }
        slots_[hole] = Slot{};
        --size_;
    }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const Slot& slot : slots_) {
            if (slot.is_used()) {
                visit(slot);
            }
        }
    }
    template <class Change>
    void change_each(Change change) {
        for (Slot& slot : slots_) {
            if (slot.is_used()) {
                change(slot);
            }
        }
    }

private:
    size_t next(size_t i) const { return (i + 1) & mask_; }

    Slot* put(const Slot& slot) {
        size_t i = slot.hash() & mask_;
        while (slots_[i].is_used()) {
            i = next(i);
        }
        slots_[i] = slot;
        ++size_;
        return &slots_[i];
    }

    [[gnu::noinline, gnu::cold]] bool grow_slow() {
        HashTable grown;
        if (!grown.init(slots_.size() * 2)) {
            return false;
        }
        for_each([&](const Slot& slot) { grown.put(slot); });
        slots_.swap(grown.slots_);
        mask_ = grown.mask_;
        return true;
    }

    MappedArray<Slot> slots_;
    size_t mask_ = 0;
    size_t size_ = 0;
};

}  // namespace peakline::record
