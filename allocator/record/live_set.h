// The live set: allocations not yet freed, by address. An index with open addressing, linear
// probing and backward-shift deletion, in mapped memory; a few nanoseconds an operation.
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

// Blocks stand in one array, the one freed last is used again first: what a program holds lies
// close together, and what it touched last is still in the caches. An index of 8 bytes a slot
// finds them by address; it is at most half full.
class LiveSet {
public:
    // `slot_count`: of the index, a power of two. False when memory cannot be mapped.
    bool init(size_t slot_count = size_t{1} << 12) { return rehash(slot_count); }

    // The block at this address, or nullptr. Valid until the next insert or erase. `hash`: that of
    // the address.
    LiveBlock* find(uint64_t address) { return find(address, hash_of(address)); }
    LiveBlock* find(uint64_t address, uint32_t hash) {
        for (size_t i = hash & mask_; slots_[i].block != 0; i = next(i)) {
            if (slots_[i].hash == hash) {
                LiveBlock& block = blocks_[slots_[i].block - 1];
                if (block.address == address) {
                    found_ = i;
                    return &block;
                }
            }
        }
        return nullptr;
    }

    // Adds a block whose address (never 0) is not in the set; the caller fills in the rest of it.
    // nullptr when the set cannot grow. Valid until the next add or erase.
    LiveBlock* add(uint64_t address) { return add(address, hash_of(address)); }
    LiveBlock* add(uint64_t address, uint32_t hash) {
        if (size_ == blocks_.capacity() && !rehash(slots_.size() * 2)) {
            return nullptr;
        }
        const uint32_t index = take_place();
        size_t i = hash & mask_;
        while (slots_[i].block != 0) {
            i = next(i);
        }
        slots_[i] = Slot{hash, index + 1};
        ++size_;
        blocks_[index].address = address;
        return &blocks_[index];
    }
    // The same with a whole block. False when the set cannot grow.
    bool insert(const LiveBlock& block) {
        LiveBlock* place = add(block.address);
        if (place == nullptr) {
            return false;
        }
        *place = block;
        return true;
    }

    // Removes a block returned by find().
    void erase(LiveBlock* block) {
        size_t hole = found_;
        if (&blocks_[slots_[hole].block - 1] != block) {
            find(block->address);
            hole = found_;
        }
        const uint32_t place = slots_[hole].block;
        for (size_t i = next(hole); slots_[i].block != 0; i = next(i)) {
            const size_t wanted = slots_[i].hash & mask_;
            // Move back only what may stand in the hole: its home is not between hole and i.
            if (((i - wanted) & mask_) >= ((i - hole) & mask_)) {
                slots_[hole] = slots_[i];
                hole = i;
            }
        }
        slots_[hole] = Slot{};
        block->address = 0;
        block->ordinal = free_place_;
        free_place_ = place;
        --size_;
    }

    // Fetches into the caches: the index for an address, and where a block of it is, or, without
    // one, will be; for the second the index should be there.
    static uint32_t hash_of(uint64_t address) {
        // Fibonacci hashing; addresses are multiples of 512, the product spreads their low bits.
        return static_cast<uint32_t>(((address >> 4) * 0x9E3779B97F4A7C15ULL) >> 20);
    }
    void prefetch_index(uint32_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }
    void prefetch_block(uint32_t hash) const {
        size_t i = hash & mask_;
        while (slots_[i].block != 0 && slots_[i].hash != hash) {
            i = next(i);
        }
        const uint64_t place = slots_[i].block != 0 ? slots_[i].block : free_place_;
        if (place != 0) {
            __builtin_prefetch(&blocks_[place - 1]);
        }
    }

    size_t size() const { return size_; }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const LiveBlock& block : blocks_) {
            if (block.address != 0) {
                visit(block);
            }
        }
    }

private:
    struct Slot {
        uint32_t hash;
        uint32_t block;  // its place in blocks_, from 1; 0: free
    };

    size_t next(size_t i) const { return (i + 1) & mask_; }

    // A free place; there is one.
    uint32_t take_place() {
        if (free_place_ == 0) {
            blocks_.resize_untouched(blocks_.size() + 1);
            return static_cast<uint32_t>(blocks_.size() - 1);
        }
        const auto index = static_cast<uint32_t>(free_place_ - 1);
        free_place_ = blocks_[index].ordinal;
        return index;
    }

    [[gnu::noinline, gnu::cold]] bool rehash(size_t slot_count) {
        MappedArray<Slot> slots;
        MappedArray<LiveBlock> blocks;
        if (!slots.reserve(slot_count) || !slots.resize_untouched(slot_count) ||
            !blocks.reserve(slot_count / 2)) {
            return false;
        }
        const size_t mask = slot_count - 1;
        for (const Slot& slot : slots_) {
            if (slot.block != 0) {
                size_t i = slot.hash & mask;
                while (slots[i].block != 0) {
                    i = (i + 1) & mask;
                }
                slots[i] = slot;
            }
        }
        for (const LiveBlock& block : blocks_) {
            blocks.push(block);
        }
        slots_.swap(slots);
        blocks_.swap(blocks);
        mask_ = mask;
        return true;
    }

    MappedArray<Slot> slots_;
    MappedArray<LiveBlock> blocks_;  // Of a free place: address 0, and in `ordinal` the next one.
    uint64_t free_place_ = 0;        // from 1; 0: none
    size_t size_ = 0;
    size_t mask_ = 0;
    size_t found_ = 0;  // slot of the block found last: what is erased was mostly just found
};

}  // namespace peakline::record
