// The live set: allocations not yet freed, by address; a few nanoseconds per operation.
// Used by the recorder, under its lock. Not thread safe. Never calls malloc.
#pragma once

#include <cstdint>

#include "allocator/record/tables/id_index.h"
#include "allocator/record/tables/mapped_array.h"
#include "allocator/record/tables/mix64.h"

namespace peakline::record {

enum LiveFlags : uint8_t {
    kFreeRequested = 1,  // freed by the program, but another stream may still use it
    kUnreported = 2,     // recorded at the call, so its free is reported at the call, too
    kFreed = 4,          // not in the set; see Note [Slots that stay]
    kSaved = 8,          // reported by record_saved()
    kTensorKind = 0xF0,  // the reported format::TensorKind, 0: none
};
inline constexpr unsigned kTensorKindShift = 4;

inline constexpr uint16_t kManyStreams = UINT16_MAX;

struct LiveBlock {
    uint64_t address;
    union {
        uint64_t ordinal;         // of its alloc record
        uint64_t next_free_slot;  // of a slot without a block; see LiveSet::free_slot_
    };
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint32_t context;
    uint16_t stream;  // kManyStreams: any id from there on
    uint8_t device;
    uint8_t flags;  // LiveFlags
};
static_assert(sizeof(LiveBlock) == 40);

// Note [Slots that stay]
// A caching allocator returns the same few addresses again and again. So a freed block keeps its
// slot in the array, and its address stays in the index: a later block at this address gets the
// same slot, and neither the index nor a list of free slots has to change. EventPredictor remembers
// the slot and does not even search the index. When no slot is left and half of them belong to
// freed blocks, all those are released at once; with fewer freed blocks the array grows. So there
// are at most four times as many slots as blocks were ever live at once.
class LiveSet {
public:
    // `entry_count`: size of the index, a power of two. False if memory cannot be mapped.
    bool init(size_t entry_count = size_t{1} << 12) {
        return index_.init(entry_count) && grow(entry_count / 2);
    }

    // The block at this address, or nullptr. Valid until the next add.
    LiveBlock* find(uint64_t address) {
        LiveBlock* const block = find_slot(address);
        return block != nullptr && is_live(*block) ? block : nullptr;
    }

    // The block that is or was at this address: live, or erased since; nullptr: not known.
    [[gnu::noinline]] LiveBlock* find_slot(uint64_t address) {
        const uint32_t slot = index_.find(
            mix64(address), [&](uint32_t one) { return blocks_[one - 1].address == address; });
        return slot != 0 ? &blocks_[slot - 1] : nullptr;
    }

    // Adds a block at an address (never 0) that is not in the set. The caller fills in the other
    // fields and the flags. nullptr if the set cannot grow. Valid until the next add.
    LiveBlock* add(uint64_t address) { return add(address, find_slot(address)); }
    // `erased`: the result of find_slot for the address.
    LiveBlock* add(uint64_t address, LiveBlock* erased) {
        LiveBlock* const block = erased != nullptr ? erased : take_slot(address);
        size_ += block != nullptr ? 1 : 0;
        return block;
    }

    // Removes a live block. It changes only the flags.
    void erase(LiveBlock* block) {
        block->flags = kFreed;
        --size_;
    }

    static bool is_live(const LiveBlock& block) { return (block.flags & kFreed) == 0; }
    // The block at a slot that slot_of returned, or at 0. The block may be freed, or the slot may
    // hold another block now. If the set is all zero there is no block; then only prefetching may
    // use the result.
    LiveBlock* at(uint32_t slot) { return blocks_.data() + slot; }
    uint32_t slot_of(const LiveBlock* block) const {
        return static_cast<uint32_t>(block - blocks_.data());
    }

    size_t size() const { return size_; }

    // While true, no slot of a freed block is released.
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
    LiveBlock* take_slot(uint64_t address) {
        if (free_slot_ == 0 && blocks_.size() == blocks_.capacity() && !make_room_slow()) {
            return nullptr;
        }
        const size_t slot = free_slot_ != 0 ? free_slot_ - 1 : blocks_.size();
        if (!index_.add(mix64(address), static_cast<uint32_t>(slot + 1))) {
            return nullptr;
        }
        if (free_slot_ != 0) {
            free_slot_ = blocks_[slot].next_free_slot;
        } else {
            blocks_.resize_untouched(slot + 1);
        }
        blocks_[slot].address = address;
        return &blocks_[slot];
    }

    [[gnu::noinline, gnu::cold]] bool make_room_slow() {
        if (size_ > blocks_.size() / 2 || keeps_freed_) {
            return grow(blocks_.capacity() * 2);
        }
        index_.clear();
        for (size_t slot = blocks_.size(); slot-- > 0;) {
            LiveBlock& block = blocks_[slot];
            if (is_live(block)) {
                index_.add(mix64(block.address), static_cast<uint32_t>(slot + 1));
            } else {
                block.address = 0;
                block.next_free_slot = free_slot_;
                free_slot_ = slot + 1;
            }
        }
        return true;
    }

    bool grow(size_t capacity) {
        MappedArray<LiveBlock> blocks;
        if (!blocks.reserve(capacity)) {
            return false;
        }
        for (const LiveBlock& block : blocks_) {
            blocks.push(block);
        }
        blocks_.swap(blocks);
        return true;
    }

    // A free slot has address 0, kFreed, and the next free slot.
    MappedArray<LiveBlock> blocks_;
    size_t size_ = 0;
    IdIndex index_;           // of slots, from 1
    uint64_t free_slot_ = 0;  // from 1; 0: none
    bool keeps_freed_ = false;
};

}  // namespace peakline::record
