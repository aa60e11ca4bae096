// The live set: allocations not yet freed, by address. Open addressing with linear probing and
// backward-shift deletion, in mapped memory; a few nanoseconds an operation.
// Used by the recorder (under its lock) and by replay. Not thread safe. Never calls malloc.
#pragma once

#include <cstdint>

#include "mapped_array.h"

namespace peakline::record {

enum LiveFlags : uint8_t {
    kFreeRequested = 1,  // given up by the program, another stream may still use it
    kUnreported = 2,     // recorded at the call: its free is told at the call, too
    kTensorKind = 0xF0,  // the format::TensorKind that was told of it, 0: none
};
inline constexpr unsigned kTensorKindShift = 4;

inline constexpr uint16_t kManyStreams = UINT16_MAX;

struct LiveBlock {
    uint64_t address;
    uint64_t ordinal;  // of its alloc record
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint32_t context;
    uint16_t stream;  // kManyStreams: any id from there on
    uint8_t device;
    uint8_t flags;  // LiveFlags
};
static_assert(sizeof(LiveBlock) == 40);

class LiveSet {
public:
    // False when memory for the first table cannot be mapped.
    bool init(size_t slot_count = size_t{1} << 14) { return rehash(slot_count); }

    // The block at this address, or nullptr. Valid until the next insert or erase.
    LiveBlock* find(uint64_t address) {
        for (size_t i = home(address);; i = next(i)) {
            if (slots_[i].address == address) {
                return &slots_[i];
            }
            if (slots_[i].address == 0) {
                return nullptr;
            }
        }
    }

    // Adds a block whose address (never 0) is not in the set; the caller fills in the rest of it.
    // nullptr when the table cannot grow. Valid until the next add or erase.
    LiveBlock* add(uint64_t address) {
        if ((size_ + 1) * 2 > slots_.size() && !rehash(slots_.size() * 2)) {
            if (size_ + 1 == slots_.size()) {
                return nullptr;
            }
        }
        size_t i = home(address);
        while (slots_[i].address != 0) {
            i = next(i);
        }
        slots_[i].address = address;
        ++size_;
        return &slots_[i];
    }
    // The same with a whole block. False when the table cannot grow.
    bool insert(const LiveBlock& block) {
        LiveBlock* slot = add(block.address);
        if (slot == nullptr) {
            return false;
        }
        *slot = block;
        return true;
    }

    // Removes a block returned by find().
    void erase(LiveBlock* block) {
        size_t hole = static_cast<size_t>(block - slots_.data());
        for (size_t i = next(hole); slots_[i].address != 0; i = next(i)) {
            const size_t wanted = home(slots_[i].address);
            // Move back only what may stand in the hole: its home is not between hole and i.
            if (((i - wanted) & mask_) >= ((i - hole) & mask_)) {
                slots_[hole] = slots_[i];
                hole = i;
            }
        }
        slots_[hole].address = 0;
        --size_;
    }

    size_t size() const { return size_; }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const LiveBlock& slot : slots_) {
            if (slot.address != 0) {
                visit(slot);
            }
        }
    }

private:
    size_t home(uint64_t address) const {
        // Fibonacci hashing; addresses are multiples of 512, the product spreads their low bits.
        return static_cast<size_t>(((address >> 4) * 0x9E3779B97F4A7C15ULL) >> 20) & mask_;
    }
    size_t next(size_t i) const { return (i + 1) & mask_; }

    bool rehash(size_t slot_count) {
        MappedArray<LiveBlock> grown;
        if (!grown.reserve(slot_count) || !grown.resize_untouched(slot_count)) {
            return false;
        }
        slots_.swap(grown);
        mask_ = slot_count - 1;
        for (const LiveBlock& old : grown) {
            if (old.address != 0) {
                size_t i = home(old.address);
                while (slots_[i].address != 0) {
                    i = next(i);
                }
                slots_[i] = old;
            }
        }
        return true;
    }

    MappedArray<LiveBlock> slots_;
    size_t size_ = 0;
    size_t mask_ = 0;
};

}  // namespace peakline::record
