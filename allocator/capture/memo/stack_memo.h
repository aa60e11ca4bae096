// Finds the stacks that this thread has seen without a walk: a training loop repeats the same
// stacks at the same addresses. Only the owning thread uses its memo.
//
// Note [Why a memo may be believed]
// A walk is a function of its start registers, of the rules, and of the words that it reads. An
// entry lists the addresses of these words, with a hash of their values. If the hash is the same
// (and the epoch is, see Note [Code that changes]), a walk would give the same stack. The values
// themselves would make entries five times as large, and none of them stays in the caches between
// two events of a step; see Note [Hash of the words] in words_hash.h. The list must be complete and
// no longer:
//   - the return address of every frame;
//   - the slot of every re-aligned frame's CFA: old words, left in a stack that now has another
//     shape, could confirm return addresses alone;
//   - the slot that rbp was reloaded from, for the same reason, but only if rbp is live: some frame
//     further out computes its CFA with it before a reload. Otherwise rbp holds the program's data,
//     and comparing it would miss four times out of five.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/capture/unwind/native_stepper.h"
#include "allocator/record/tables/mapped_array.h"
#include "allocator/record/tables/prefetch.h"
#include "words_hash.h"

namespace peakline::capture {

class StackMemo {
public:
    static constexpr uint32_t kWays = 8;
    static constexpr size_t kMaxWords = 192;  // deeper stacks are walked each time

    // `set_count`: a power of two. Pages come as entries are used. False: no memory.
    bool init(size_t set_count);
    // Call it for the next thread: its stack may be shorter.
    void clear();

    // Selects the set. `hint`: differs between stacks with equal innermost frames; best a return
    // address a few frames further out.
    static uint64_t hash(const Registers& start, uint64_t hint);

    // The node of the stack, 0: not known. `number`: of an entry, 0: none; find_predicted()
    // compares only this one, and needs no hash.
    uint32_t find_predicted(const Registers& start, uint64_t epoch, uint32_t number) const {
        const Entry& entry = entries_[number];
        if (entry.node == 0 || !holds(entry, start, epoch)) [[unlikely]] {
            return 0;
        }
        return entry.node;
    }
    uint32_t find(const Registers& start, uint64_t hash, uint64_t epoch, uint32_t* number) const;
    void prefetch(uint32_t number) const { record::prefetch_lines(&entries_[number], kLinesAhead); }
    // Keeps a complete walk. kIfRoom: only if it evicts no other current stack. Returns the number
    // of its entry, 0 if there was no room.
    enum class Keep : uint8_t { kIfRoom, kAlways };
    uint32_t keep(const Registers& start,
                  uint64_t hash,
                  uint64_t epoch,
                  const Walk& walk,
                  uint32_t node,
                  Keep how = Keep::kAlways);

private:
    struct alignas(record::kCacheLine) Entry {
        WordsHash words_hash;
        Registers start;
        uint64_t epoch;
        uint32_t node;                // 0: free
        uint16_t word_count;          // a multiple of kWordsAtOnce
        bool rbp_is_live;             // at the start
        uint16_t offsets[kMaxWords];  // in words from start.cfa, innermost first
    };
    static constexpr size_t kLinesAhead = 3;  // 64 words; most stacks have fewer

    static bool add_word(Entry& entry, uint64_t slot);
    static bool fill(Entry& entry, const Registers& start, const Walk& walk);
    static bool holds(const Entry& entry, const Registers& start, uint64_t epoch);
    uint32_t first_way(uint64_t hash) const {
        return static_cast<uint32_t>(hash >> 32U & set_mask_) * kWays;
    }
    Entry& entry_of(uint32_t way) { return entries_[numbers_[way]]; }
    const Entry& entry_of(uint32_t way) const { return entries_[numbers_[way]]; }
    uint32_t give_entry(uint32_t way);
    // Never 0, which marks a free way.
    static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash) | 1U; }

    record::MappedArray<uint32_t> tags_;
    record::MappedArray<uint32_t> numbers_;  // of each way's entry; 0: none yet
    record::MappedArray<Entry> entries_;     // in the order of first use; the first stays free
    uint64_t set_mask_ = 0;
    uint32_t next_victim_ = 0;
};

}  // namespace peakline::capture
