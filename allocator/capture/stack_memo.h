// Stacks this thread has met, found again without walking: a training loop comes back to the same
// stacks at the same addresses. Only the owning thread uses its memo.
//
// Note [Why a memo may be believed]
// A walk is a function of its start registers, of the rules, and of the words it reads. An entry
// lists these words with their values; when all still hold (and the epoch does, see Note [Code
// that changes]), a walk would give the same stack. The list must be complete and no longer:
//   - the return address of every frame;
//   - the slot of every re-aligned frame's CFA: return addresses alone would be confirmed by old
//     words left in a stack that is now shaped differently;
//   - the slot rbp was reloaded from, for the same reason, but only where rbp is live: some frame
//     further out computes its CFA with it before it is reloaded. Elsewhere rbp holds the
//     program's data, and comparing it would miss four times out of five.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/mapped_array.h"
#include "native_stepper.h"

namespace peakline::capture {

class StackMemo {
public:
    static constexpr size_t kWays = 8;
    static constexpr size_t kMaxWords = 192;  // deeper stacks are walked each time

    // `set_count`: a power of two. Pages come as entries are used. False: no memory.
    bool init(size_t set_count);
    // For the next thread, whose stack may be shorter.
    void clear();

    // What selects the set. `hint`: anything that tells stacks with equal innermost frames
    // apart; best a return address a few frames further out.
    static uint64_t hash(const Registers& start, uint64_t hint);

    // Node of the stack, 0: not known.
    uint32_t find(const Registers& start, uint64_t hash, uint64_t epoch) const;
    // Keeps a complete walk. kIfRoom: only where no other current stack has to go for it; false
    // when there was none.
    enum class Keep : uint8_t { kIfRoom, kAlways };
    bool keep(const Registers& start,
              uint64_t hash,
              uint64_t epoch,
              const Walk& walk,
              uint32_t node,
              Keep how = Keep::kAlways);

private:
    struct Entry {
        Registers start;
        uint64_t epoch;
        uint32_t node;
        uint32_t word_count;          // a multiple of kChunk
        bool rbp_is_live;             // at the start
        uint32_t offsets[kMaxWords];  // bytes from start.cfa, innermost first
        uint64_t values[kMaxWords];
    };
    static constexpr size_t kChunk = 8;

    static bool words_hold(const Entry& entry);
    static bool add_word(Entry& entry, uint64_t slot, uint64_t value);
    static bool fill(Entry& entry, const Registers& start, const Walk& walk);
    size_t first_way(uint64_t hash) const { return (hash >> 32U & set_mask_) * kWays; }
    // Never 0, which marks a free way.
    static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash) | 1U; }

    record::MappedArray<uint32_t> tags_;
    record::MappedArray<Entry> entries_;
    uint64_t set_mask_ = 0;
    uint32_t next_victim_ = 0;
};

}  // namespace peakline::capture
