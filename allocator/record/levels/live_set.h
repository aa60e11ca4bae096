// The live set: allocations not yet freed, by address. An index with open addressing and linear
// probing in mapped memory; a few nanoseconds an operation.
// Used by the recorder, under its lock. Not thread safe. Never calls malloc.
#pragma once

#include <cstdint>
#include <cstring>

#include "allocator/record/tables/mapped_array.h"

namespace peakline::record {

enum LiveFlags : uint8_t {
    kFreeRequested = 1,  // given up by the program, another stream may still use it
    kUnreported = 2,     // recorded at the call: its free is told at the call, too
    kFreed = 4,          // not in the set; see Note [Places that stay]
    kTensorKind = 0xF0,  // the format::TensorKind that was told of it, 0: none
};
inline constexpr unsigned kTensorKindShift = 4;

inline constexpr uint16_t kManyStreams = UINT16_MAX;

struct LiveBlock {
    uint64_t address;
    union {
        uint64_t ordinal;          // of its alloc record
        uint64_t next_free_place;  // of a place without a block; see LiveSet::free_place_
    };
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint32_t context;
    uint16_t stream;  // kManyStreams: any id from there on
    uint8_t device;
    uint8_t flags;  // LiveFlags
};
static_assert(sizeof(LiveBlock) == 40);

// Note [Places that stay]
// A caching allocator gives out the same few addresses again and again. So a freed block keeps its
// place in the array, and its address stands in the index: when the address comes again, it is
// the same place, and neither the index nor a list of free places had to be changed. Who remembers
// the place (EventPredictor) does not even look into the index. Only when no place is left, and
// half of all are of freed blocks, they are given up, all at once; with fewer the array grows. So
// there are at most four times as many places as blocks were ever live at once.
//
// The index has 8 bytes a slot and is at most half full.
class LiveSet {
public:
    // `slot_count`: of the index, a power of two. False when memory cannot be mapped.
    bool init(size_t slot_count = size_t{1} << 12) { return grow(slot_count); }

    // The block at this address, or nullptr. Valid until the next add.
    LiveBlock* find(uint64_t address) {
        LiveBlock* const block = find_place(address);
        return block != nullptr && is_live(*block) ? block : nullptr;
    }

    // The block that is or was at this address: live, or erased since; nullptr: not known.
    [[gnu::noinline]] LiveBlock* find_place(uint64_t address) {
        const uint32_t hash = hash_of(address);
        for (size_t i = hash & mask_; slots_[i].block != 0; i = next(i)) {
            if (slots_[i].hash == hash) {
                LiveBlock& block = blocks_[slots_[i].block - 1];
                if (block.address == address) {
                    return &block;
                }
            }
        }
        return nullptr;
    }

    // Adds a block whose address (never 0) is not in the set; the caller fills in the rest of it,
    // flags too. nullptr when the set cannot grow. Valid until the next add.
    LiveBlock* add(uint64_t address) { return add(address, find_place(address)); }
    // `erased`: what find_place says of the address.
    LiveBlock* add(uint64_t address, LiveBlock* erased) {
        LiveBlock* const block = erased != nullptr ? erased : take_place(address);
        size_ += block != nullptr ? 1 : 0;
        return block;
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

    // Removes a live block. All of it but the flags stays as it was.
    void erase(LiveBlock* block) {
        block->flags = kFreed;
        --size_;
    }

    static bool is_live(const LiveBlock& block) { return (block.flags & kFreed) == 0; }
    // The block at a place: any that was told by place_of, or 0. May be freed, or another's now.
    LiveBlock& at(uint32_t place) { return blocks_[place]; }
    uint32_t place_of(const LiveBlock* block) const {
        return static_cast<uint32_t>(block - blocks_.data());
    }

    size_t size() const { return size_; }

    // While true, no place of a freed block is given up.
    void keep_freed(bool keep) { keeps_freed_ = keep; }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const LiveBlock& block : blocks_) {
            if (block.address != 0 && is_live(block)) {
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

    static uint32_t hash_of(uint64_t address) {
        // Fibonacci hashing; addresses are multiples of 512, the product spreads their low bits.
        return static_cast<uint32_t>(((address >> 4) * 0x9E3779B97F4A7C15ULL) >> 20);
    }

    LiveBlock* take_place(uint64_t address) {
        if (free_place_ == 0 && blocks_.size() == blocks_.capacity() && !make_room_slow()) {
            return nullptr;
        }
        uint32_t place = static_cast<uint32_t>(blocks_.size());
        if (free_place_ != 0) {
            place = static_cast<uint32_t>(free_place_ - 1);
            free_place_ = blocks_[place].next_free_place;
        } else {
            blocks_.resize_untouched(place + size_t{1});
        }
        blocks_[place].address = address;
        put_into_index(slots_, mask_, Slot{hash_of(address), place + 1});
        return &blocks_[place];
    }

    static void put_into_index(MappedArray<Slot>& slots, size_t mask, Slot slot) {
        size_t i = slot.hash & mask;
        while (slots[i].block != 0) {
            i = (i + 1) & mask;
        }
        slots[i] = slot;
    }

    [[gnu::noinline, gnu::cold]] bool make_room_slow() {
        if (size_ > blocks_.size() / 2 || keeps_freed_) {
            return grow(slots_.size() * 2);
        }
        for (size_t place = blocks_.size(); place-- > 0;) {
            LiveBlock& block = blocks_[place];
            if (!is_live(block)) {
                block.address = 0;
                block.next_free_place = free_place_;
                free_place_ = place + 1;
            }
        }
        std::memset(slots_.data(), 0, slots_.size() * sizeof(Slot));
        index_all(slots_, mask_);
        return true;
    }

    // Without free places, but those of freed blocks.
    void index_all(MappedArray<Slot>& slots, size_t mask) const {
        for (size_t place = 0; place < blocks_.size(); ++place) {
            if (const uint64_t address = blocks_[place].address; address != 0) {
                put_into_index(
                    slots, mask, Slot{hash_of(address), static_cast<uint32_t>(place + 1)});
            }
        }
    }

    bool grow(size_t slot_count) {
        MappedArray<Slot> slots;
        MappedArray<LiveBlock> blocks;
        if (!slots.reserve(slot_count) || !slots.resize_untouched(slot_count) ||
            !blocks.reserve(slot_count / 2)) {
            return false;
        }
        index_all(slots, slot_count - 1);
        for (const LiveBlock& block : blocks_) {
            blocks.push(block);
        }
        slots_.swap(slots);
        blocks_.swap(blocks);
        mask_ = slot_count - 1;
        return true;
    }

    // Of a free place: address 0, kFreed, and the next one.
    MappedArray<LiveBlock> blocks_;
    size_t size_ = 0;
    MappedArray<Slot> slots_;
    uint64_t free_place_ = 0;  // from 1; 0: none
    size_t mask_ = 0;
    bool keeps_freed_ = false;
};

}  // namespace peakline::record
