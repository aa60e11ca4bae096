// What a thread, or the recorder, meets again in the same order. One owner; not thread safe. Lives
// in memory that is zero at first, which is the empty state; a later owner goes on with it.
//
// Note [What comes next]
// A training loop comes back to the same stacks and shapes in the same order. So places in a table
// are written down as they are met, and the guess is: what came next the last time. While it holds,
// the guess goes on along what was written; where it fails, it goes on from the place where the
// present one was met last. Once a whole round was guessed, and a thousand things, it is a loop,
// and nothing is written any more until a guess fails: the round is there to be read. What is
// guessed is fetched into the caches at once: between two events of a whole step torch's own work
// empties them, and a look into a table spread by a hash then costs as much as all else. For the
// same reason entries stand in the order in which they were met first, and a hash finds only their
// numbers: what is used in turn shares lines and pages.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <emmintrin.h>

#include "replace_tagged.h"

namespace peakline::record {

// NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): lives in memory that is zero.
// kLength: a power of two; a loop of more than that is not seen as one.
template <uint32_t kLength>
class Sequence {
public:
    // The place that should be next; any place that was met, or 0, where nothing is known.
    uint32_t guess() const { return guess_; }

    // The one after it.
    uint32_t second_guess() const { return met_[(next_ + 1) & (kLength - 1)]; }

    // Guesses that were right since the last wrong one; in a loop no longer counted.
    uint32_t right_count() const { return right_count_; }

    // The guess is met. met_at(guess): a number that belongs to it, kept by the caller.
    template <class MetAt>
    void follow(MetAt met_at) {
        ++next_;
        if (__builtin_expect(round_ != 0, 1)) {
            if (__builtin_expect(next_ == end_, 0)) {
                next_ -= round_;
            }
        } else {
            write(guess_, met_at(guess_));
            ++right_count_;
            const uint32_t distance = end_ - next_;
            round_ = right_count_ >= std::max(distance, kLeastRight) ? distance : 0;
        }
        guess_ = met_[next_ & (kLength - 1)];
        __builtin_prefetch(&met_[(next_ + kFetchedAhead) & (kLength - 1)]);
    }

    // `place` is met instead.
    void follow_other(uint32_t place, uint32_t* met_at) {
        round_ = right_count_ = 0;
        next_ = *met_at + 1;
        write(place, met_at);
        guess_ = met_[next_ & (kLength - 1)];
    }

private:
    // Of a run of one thing within a round all must be written down, or the next round finds a
    // shorter one there.
    static constexpr uint32_t kLeastRight = std::min<uint32_t>(1024, kLength / 4);

    static constexpr uint32_t kFetchedAhead = 24;  // in the next line, or the one after it

    void write(uint32_t place, uint32_t* met_at) {
        *met_at = end_;
        met_[end_++ & (kLength - 1)] = place;
    }

    uint32_t guess_;
    uint32_t next_;         // where the guess was written
    uint32_t end_;          // where the next one will be
    uint32_t round_;        // length of the loop in which everything is as guessed; 0: none
    uint32_t right_count_;  // guesses without a wrong one in between, outside of a loop
    uint32_t met_[kLength];
};

// Numbers of entries by hash, counted from 1 on in the order of first use. Eight places side by
// side are one set: with two a loop of some thousand things had a few that pushed each other out in
// every round. Beside a number stand other bits of its hash, so hardly an entry is looked at in
// vain. kSize: a power of two.
template <uint32_t kSize>
class EntryNumbers {
public:
    // The number in the set of `hash` for which is_wanted(number); 0: none.
    template <class IsWanted>
    uint32_t find(uint64_t hash, IsWanted is_wanted) const {
        const uint32_t* const set = set_of(slots_, hash);
        const __m128i tags = _mm_set1_epi32(static_cast<int>(tag(hash)));
        unsigned ways = like(set, tags) | like(set + kWays / 2, tags) << kWays / 2;
        for (; ways != 0; ways &= ways - 1) {
            const uint32_t number = set[std::countr_zero(ways)] & kNumberMask;
            if (number != 0 && is_wanted(number)) {
                return number;
            }
        }
        return 0;
    }

    // A number in the set of `hash` for a new entry: a new one, or one for which !is_used(number),
    // else one of the eight in turn.
    template <class IsUsed>
    uint32_t take(uint64_t hash, IsUsed is_used) {
        uint32_t* const set = set_of(slots_, hash);
        uint32_t way = 0;
        while (way < kWays && set[way] != 0 && is_used(set[way] & kNumberMask)) {
            ++way;
        }
        if (way == kWays) {
            way = next(&pushed_out_count_) % kWays;
        }
        const uint32_t number = set[way] != 0 ? set[way] & kNumberMask : next(&taken_count_);
        set[way] = number | tag(hash);
        return number;
    }
    uint32_t take(uint64_t hash) {
        return take(hash, [](uint32_t) { return true; });
    }
    // How many different ones were taken.
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
    // A bit for each of four places: whether it has this tag.
    static unsigned like(const uint32_t* four, __m128i tags) {
        const __m128i places = _mm_load_si128(reinterpret_cast<const __m128i*>(four));
        const __m128i numbers = _mm_set1_epi32(static_cast<int>(kNumberMask));
        const __m128i equal = _mm_cmpeq_epi32(_mm_andnot_si128(numbers, places), tags);
        return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(equal)));
    }
    // In one instruction: a signal handler that takes one, too, must not get the same.
    static uint32_t next(uint32_t* count) {
        return std::atomic_ref<uint32_t>(*count).fetch_add(1, std::memory_order_relaxed) + 1;
    }

    uint32_t taken_count_;
    uint32_t pushed_out_count_;
    alignas(kWays * sizeof(uint32_t)) uint32_t slots_[kSize];  // number and tag; 0: none yet
};

// Ids by key. Key: comparable, trivial. kSize: a power of two.
template <class Key, size_t kSize>
class NumberedCache {
public:
    // 0: absent. `*number`: of the entry that is looked at first, 0: none; afterwards of the one
    // found. `hash_of(key)` is asked only where it is another.
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

    // Of the entry, when it is that of the key; else 0.
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
    Entry entries_[kSize + 1];  // the first stays free
};

// Which of many things a thread meets, one after another. Thing: comparable, trivial; the one of
// zeros is met first. kSize: a power of two. Between them, kBareNumbers things more that are
// nothing but a number, from 0 on: no entry tells what they are.
template <class Thing, uint32_t kSize, uint32_t kBareNumbers = 0>
class Trail {
public:
    // What should be met next; the one of zeros where that is a bare number.
    const Thing& expected() const { return entries_[is_bare() ? 0 : sequence_.guess()].thing; }
    // The bare number that should be next; kBareNumbers or more: something else.
    uint32_t expected_number() const { return sequence_.guess() - kFirstBare; }
    // What comes after it, if that has an entry.
    void prefetch_second() const {
        const uint32_t second = sequence_.second_guess();
        __builtin_prefetch(&entries_[second < kFirstBare ? second : 0]);
    }

    template <class HashOf>
    void meet(const Thing& thing, HashOf hash_of) {
        if (__builtin_expect(expected() == thing && !is_bare(), 1)) {
            follow();
        } else {
            meet_other_slow(thing, hash_of);
        }
        __builtin_prefetch(&expected());
    }
    // Another one than expected_number().
    void meet_other_number(uint32_t number) {
        sequence_.follow_other(kFirstBare + number, met_at(kFirstBare + number));
    }
    // What was expected is met.
    void follow() {
        sequence_.follow([this](uint32_t place) { return met_at(place); });
    }
    uint32_t right_count() const { return sequence_.right_count(); }
    // Expects only things that are met from now on, or the one of zeros.
    void forget() {
        for (uint32_t number = 1; number <= numbers_.taken_count(); ++number) {
            entries_[number].thing = Thing{};
        }
    }

private:
    struct Entry {
        Thing thing;
        uint32_t met_at;
    };
    static constexpr uint32_t kFirstBare = kSize + 1;

    bool is_bare() const { return kBareNumbers != 0 && sequence_.guess() >= kFirstBare; }
    uint32_t* met_at(uint32_t place) {
        return kBareNumbers != 0 && place >= kFirstBare ? &bare_met_at_[place - kFirstBare]
                                                        : &entries_[place].met_at;
    }

    template <class HashOf>
    [[gnu::noinline]] void meet_other_slow(Thing thing, HashOf hash_of) {
        const auto hash = hash_of(thing);
        uint32_t number =
            numbers_.find(hash, [&](uint32_t one) { return entries_[one].thing == thing; });
        if (number == 0) {
            number = numbers_.take(hash);
            entries_[number].thing = thing;
        }
        sequence_.follow_other(number, &entries_[number].met_at);
    }

    Sequence<2 * kSize> sequence_;
    EntryNumbers<kSize> numbers_;
    Entry entries_[kSize + 1];
    uint32_t bare_met_at_[std::max(kBareNumbers, 1U)];
};
// NOLINTEND(cppcoreguidelines-pro-type-member-init)

}  // namespace peakline::record
