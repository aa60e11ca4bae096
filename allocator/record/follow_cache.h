// What a thread, or the recorder, meets again in the same order. One owner; not thread safe. Lives
// in memory that is zero at first, which is the empty state; a later owner goes on with it.
//
// Note [What comes next]
// A training loop comes back to the same stacks and shapes in the same order. So places in a table
// are written down as they are met, and the guess is: what came next the last time. While it holds,
// the guess goes on along what was written; where it fails, it goes on from the place where
// the present one was met last. What is guessed is fetched into the caches at once: between two
// events of a whole step torch's own work empties them, and a look into a table spread by a hash
// then costs as much as all else. For the same reason entries stand in the order in which they were
// met first, and a hash finds only their numbers: what is used in turn shares lines and pages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace peakline::record {

// kLength: a power of two; a loop of more than that is not seen as one.
template <uint32_t kLength>
class Sequence {
public:
    // The place that should be next; any place of the table where nothing is known.
    uint32_t guess() const { return met_[guess_ & (kLength - 1)]; }

    // `place` is met. `met_at`: belongs to it, kept by the caller.
    void follow(uint32_t place, uint32_t* met_at, bool was_guess) {
        guess_ = (was_guess ? guess_ : *met_at) + 1;
        *met_at = end_;
        met_[end_++ & (kLength - 1)] = place;
    }

private:
    uint32_t guess_;
    uint32_t end_;
    uint32_t met_[kLength];
};

// NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): lives in memory that is zero.
// Numbers of entries by hash: place h has none until something is put there, and then always the
// same, counted from 0 on in the order of first use. kSize: a power of two.
template <uint32_t kSize>
class EntryNumbers {
public:
    static constexpr uint32_t kNone = ~uint32_t{0};

    // kNone: nothing was ever put there.
    uint32_t at(uint32_t place) const { return numbers_[place] - 1; }
    uint32_t give(uint32_t place) {
        if (numbers_[place] == 0) {
            numbers_[place] = ++given_count_;
        }
        return numbers_[place] - 1;
    }
    uint32_t given_count() const { return given_count_; }

private:
    uint32_t given_count_;
    uint32_t numbers_[kSize];  // plus one; 0: none yet
};

// Ids by key. Key: comparable, trivial. kSize: a power of two. Two places side by side are one
// set; of two that are taken the one met longer ago gives way.
template <class Key, size_t kSize>
class FollowCache {
public:
    // 0: absent. `hash_of(key)` is asked only where the guess is wrong.
    template <class HashOf>
    uint32_t find(const Key& key, HashOf hash_of) {
        const uint32_t guess = sequence_.guess();
        if (entries_[guess].id != 0 && entries_[guess].key == key) {
            return found(guess, true);
        }
        const uint32_t place = hash_of(key) & (kSize - 1);
        for (const uint32_t way : {place, place ^ 1U}) {
            const uint32_t number = numbers_.at(way);
            if (number != numbers_.kNone && entries_[number].id != 0 &&
                entries_[number].key == key) {
                return found(number, false);
            }
        }
        return 0;
    }

    template <class HashOf>
    void insert(const Key& key, HashOf hash_of, uint32_t id) {
        const uint32_t place = hash_of(key) & (kSize - 1);
        const uint32_t number = numbers_.give(is_older(place ^ 1U, place) ? place ^ 1U : place);
        Entry& entry = entries_[number];
        // A signal handler in between may ask, too: never a key with another's id.
        entry.id = 0;
        std::atomic_signal_fence(std::memory_order_release);
        entry.key = key;
        std::atomic_signal_fence(std::memory_order_release);
        entry.id = id;
        sequence_.follow(number, &entry.met_at, false);
    }

private:
    struct Entry {
        Key key;
        uint32_t id;  // 0: free
        uint32_t met_at;
    };

    // Of two places of a set; a free one is older than any other.
    bool is_older(uint32_t one, uint32_t other) const {
        const uint32_t first = numbers_.at(one);
        const uint32_t second = numbers_.at(other);
        return second != numbers_.kNone && entries_[second].id != 0 &&
               (first == numbers_.kNone || entries_[first].id == 0 ||
                entries_[first].met_at < entries_[second].met_at);
    }

    uint32_t found(uint32_t number, bool was_guess) {
        sequence_.follow(number, &entries_[number].met_at, was_guess);
        __builtin_prefetch(&entries_[sequence_.guess()]);
        return entries_[number].id;
    }

    EntryNumbers<kSize> numbers_;
    Sequence<kSize> sequence_;
    Entry entries_[kSize];
};
// NOLINTEND(cppcoreguidelines-pro-type-member-init)

}  // namespace peakline::record
