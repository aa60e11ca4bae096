// Caches with entries in the order of first use, found by number, and by a hash only if the number
// is unknown. One owner; not thread safe. All zero memory is the empty state; a later owner
// inherits the contents.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <emmintrin.h>

#include "replace_tagged.h"

namespace peakline::record {

// NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): lives in memory that is zero.
// Finds numbers of entries by hash. Numbers count from 1, in the order of first use. A set has
// eight ways: with two, a loop of some thousand entries had a few that evicted each other in every
// round. Each way also holds other bits of the hash, so an entry is almost never compared in vain.
// kSize: a power of two.
template <uint32_t kSize>
class EntryNumbers {
public:
    // The number in the set of `hash` that satisfies is_wanted(number); 0: none.
    template <class IsWanted>
    uint32_t find(uint64_t hash, IsWanted is_wanted) const {
        const uint32_t* const set = set_of(slots_, hash);
        const __m128i tags = _mm_set1_epi32(static_cast<int>(tag(hash)));
        unsigned ways = equal_tags(set, tags) | equal_tags(set + kWays / 2, tags) << kWays / 2;
        for (; ways != 0; ways &= ways - 1) {
            const uint32_t number = set[std::countr_zero(ways)] & kNumberMask;
            if (number != 0 && is_wanted(number)) {
                return number;
            }
        }
        return 0;
    }

    // A number in the set of `hash` for a new entry: an unused one, one with !is_used(number), or
    // one of the eight that is evicted, in turn.
    template <class IsUsed>
    uint32_t take(uint64_t hash, IsUsed is_used) {
        uint32_t* const set = set_of(slots_, hash);
        uint32_t way = 0;
        while (way < kWays && set[way] != 0 && is_used(set[way] & kNumberMask)) {
            ++way;
        }
        if (way == kWays) {
            way = next(&evicted_count_) % kWays;
        }
        const uint32_t number = set[way] != 0 ? set[way] & kNumberMask : next(&taken_count_);
        set[way] = number | tag(hash);
        return number;
    }
    uint32_t take(uint64_t hash) {
        return take(hash, [](uint32_t) { return true; });
    }
    // The count of different numbers handed out.
    uint32_t taken_count() const { return taken_count_; }

private:
    static constexpr uint32_t kWays = 8;
    static constexpr uint32_t kNumberMask = (1U << 17U) - 1;
    static_assert(kSize % kWays == 0 && kSize <= kNumberMask);

    static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash) & ~kNumberMask; }
    template <class Slot>
    static Slot* set_of(Slot* slots, uint64_t hash) {
        return slots + (hash & (kSize - kWays));
    }
    // One bit for each of four ways: whether it has this tag.
    static unsigned equal_tags(const uint32_t* four, __m128i tags) {
        const __m128i ways = _mm_load_si128(reinterpret_cast<const __m128i*>(four));
        const __m128i numbers = _mm_set1_epi32(static_cast<int>(kNumberMask));
        const __m128i equal = _mm_cmpeq_epi32(_mm_andnot_si128(numbers, ways), tags);
        return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(equal)));
    }
    // One instruction: a signal handler that interrupts it must not get the same number.
    static uint32_t next(uint32_t* count) {
        return std::atomic_ref<uint32_t>(*count).fetch_add(1, std::memory_order_relaxed) + 1;
    }

    uint32_t taken_count_;
    uint32_t evicted_count_;
    alignas(kWays * sizeof(uint32_t)) uint32_t slots_[kSize];  // number and tag; 0: none yet
};

// Ids by key. Key: comparable, trivial. kSize: a power of two.
template <class Key, size_t kSize>
class NumberedCache {
public:
    // 0: absent. `*number`: the entry to compare first, 0: none; afterwards the found entry.
    // `hash_of(key)` is called only when the first comparison fails.
    template <class HashOf>
    uint32_t find(const Key& key, HashOf hash_of, uint32_t* number) const {
        const auto is_it = [&](uint32_t one) { return id_of(one, key) != 0; };
        if (!is_it(*number)) {
            *number = numbers_.find(hash_of(key), is_it);
        }
        return entries_[*number].id;
    }

    template <class HashOf>
    void insert(const Key& key, HashOf hash_of, uint32_t id, uint32_t* number) {
        *number = numbers_.take(hash_of(key));
        Entry& entry = entries_[*number];
        replace_tagged(entry.id, id, [&] { entry.key = key; });
    }

    // The id of this entry when its key is `key`; else 0.
    uint32_t id_of(uint32_t number, const Key& key) const {
        const Entry& entry = entries_[number];
        return __builtin_expect(entry.key == key, 1) ? entry.id : 0;
    }

    void prefetch(uint32_t number) const { __builtin_prefetch(&entries_[number]); }

private:
    struct Entry {
        Key key;
        uint32_t id;  // 0: free
    };

    EntryNumbers<kSize> numbers_;
    Entry entries_[kSize + 1];  // entry 0 stays free
};
// NOLINTEND(cppcoreguidelines-pro-type-member-init)

}  // namespace peakline::record
