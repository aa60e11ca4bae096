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
// Numbers of entries by hash, counted from 0 on in the order of first use. Two places side by side
// are one set. kSize: a power of two.
template <uint32_t kSize>
class EntryNumbers {
public:
    static constexpr uint32_t kNone = ~uint32_t{0};

    // The number in the set of `hash` for which is_wanted(number); kNone.
    template <class IsWanted>
    uint32_t find(uint64_t hash, IsWanted is_wanted) const {
        const auto place = static_cast<uint32_t>(hash & (kSize - 1));
        for (const uint32_t way : {place, place ^ 1U}) {
            const uint32_t number = numbers_[way] - 1;
            if (number != kNone && is_wanted(number)) {
                return number;
            }
        }
        return kNone;
    }

    // A number in the set of `hash` for a new entry: of two that are taken, that of the entry met
    // longer ago. age_mark(number): the larger the later it was met; 0 for a free entry.
    template <class AgeMark>
    uint32_t take(uint64_t hash, AgeMark age_mark) {
        const auto place = static_cast<uint32_t>(hash & (kSize - 1));
        const auto mark = [&](uint32_t way) {
            return numbers_[way] == 0 ? uint64_t{0} : age_mark(numbers_[way] - 1);
        };
        uint32_t& number = numbers_[mark(place ^ 1U) < mark(place) ? place ^ 1U : place];
        if (number == 0) {
            number = ++taken_count_;
        }
        return number - 1;
    }
    // How many different ones were taken.
    uint32_t taken_count() const { return taken_count_; }

private:
    uint32_t taken_count_;
    uint32_t numbers_[kSize];  // plus one; 0: none yet
};

// Ids by key. Key: comparable, trivial. kSize: a power of two.
template <class Key, size_t kSize>
class FollowCache {
public:
    // 0: absent. `hash_of(key)` is asked only where the guess is wrong.
    template <class HashOf>
    uint32_t find(const Key& key, HashOf hash_of) {
        const uint32_t guess = sequence_.guess();
        if (has(guess, key)) {
            return found(guess, true);
        }
        const uint32_t number =
            numbers_.find(hash_of(key), [&](uint32_t one) { return has(one, key); });
        return number != numbers_.kNone ? found(number, false) : 0;
    }

    template <class HashOf>
    void insert(const Key& key, HashOf hash_of, uint32_t id) {
        const uint32_t number = numbers_.take(hash_of(key), [this](uint32_t one) {
            return entries_[one].id == 0 ? 0 : uint64_t{entries_[one].met_at} + 1;
        });
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

    bool has(uint32_t number, const Key& key) const {
        return entries_[number].id != 0 && entries_[number].key == key;
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
