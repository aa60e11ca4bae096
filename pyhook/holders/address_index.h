// Numbers by address, for millions of addresses: open addressing, linear probing, at most half
// full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace peakline::pyhook {

class AddressIndex {
public:
    AddressIndex() : slots_(kFirstSlots) {}

    // The place of the number of `address` (never 0), which is 0 where the address is new. Valid
    // until the next call.
    uint32_t* find(uint64_t address) {
        if (2 * count_ >= slots_.size()) {
            grow();
        }
        Slot& slot = slot_of(address);
        if (slot.address == 0) {
            slot.address = address;
            ++count_;
        }
        return &slot.number;
    }
    bool has(uint64_t address) const {
        return const_cast<AddressIndex*>(this)->slot_of(address).address != 0;
    }

private:
    struct Slot {
        uint64_t address = 0;  // 0: free
        uint32_t number = 0;
    };
    static constexpr size_t kFirstSlots = size_t{1} << 16;

    Slot& slot_of(uint64_t address) {
        const size_t mask = slots_.size() - 1;
        size_t i = (address >> 4U) * 0x9E3779B97F4A7C15U >> 20U & mask;
        while (slots_[i].address != 0 && slots_[i].address != address) {
            i = (i + 1) & mask;
        }
        return slots_[i];
    }

    void grow() {
        std::vector<Slot> before(slots_.size() * 4);
        before.swap(slots_);
        for (const Slot& slot : before) {
            if (slot.address != 0) {
                slot_of(slot.address) = slot;
            }
        }
    }

    std::vector<Slot> slots_;  // a power of two
    size_t count_ = 0;
};

}  // namespace peakline::pyhook
