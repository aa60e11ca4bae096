// Predicts the next key of a thread or of the recorder. One owner; not thread safe. Lives in memory
// that is zero, which is the empty state; a later owner inherits the contents.
//
// Note [What comes next]
// A training loop repeats its stacks and allocations in the same order. So we log the numbers of
// entries in the order they are used, and predict that the next use repeats the previous round:
// after a hit the prediction moves on along the log; after a miss it continues after the previous
// use of the entry that came instead. If a whole round of at least a thousand uses was predicted,
// it is a loop: nothing is logged until the next miss, and the round is read repeatedly.
// A prediction is fetched into the caches at once. Over a step, torch's own work between two events
// evicts our data, and a lookup in a hash table then costs as much as everything else. For the same
// reason entries are in the order of first use (numbered_cache.h): entries that are used one after
// the other share cache lines and pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "numbered_cache.h"

namespace peakline::record {

// NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): lives in memory that is zero.
// The log, and the position in it. kLength: a power of two; a longer loop is not seen as one.
template <uint32_t kLength>
class SequencePredictor {
public:
    // The entry that should be used next; any logged one, or 0, if nothing is known.
    uint32_t predicted() const { return predicted_; }

    // The entry after it.
    uint32_t predicted_second() const { return log_[(next_ + 1) & (kLength - 1)]; }

    // Hits since the last miss; within a loop they are no longer counted.
    uint32_t hit_count() const { return hit_count_; }

    // The predicted entry was used. logged_at(predicted) points to that entry's position in the
    // log, which the caller keeps.
    template <class LoggedAt>
    void hit(LoggedAt logged_at) {
        ++next_;
        if (__builtin_expect(round_ != 0, 1)) {
            if (__builtin_expect(next_ == end_, 0)) {
                next_ -= round_;
            }
        } else {
            append(predicted_, logged_at(predicted_));
            ++hit_count_;
            const uint32_t distance = end_ - next_;
            round_ = hit_count_ >= std::max(distance, kLeastHits) ? distance : 0;
        }
        predicted_ = log_[next_ & (kLength - 1)];
        __builtin_prefetch(&log_[(next_ + kFetchedAhead) & (kLength - 1)]);
    }

    // `entry` was used instead.
    void miss(uint32_t entry, uint32_t* logged_at) {
        round_ = hit_count_ = 0;
        next_ = *logged_at + 1;
        append(entry, logged_at);
        predicted_ = log_[next_ & (kLength - 1)];
    }

private:
    // A run of one entry within a round must be logged as a whole, or the next round would find a
    // shorter run there.
    static constexpr uint32_t kLeastHits = std::min<uint32_t>(1024, kLength / 4);

    static constexpr uint32_t kFetchedAhead = 24;  // in the next cache line, or the one after it

    void append(uint32_t entry, uint32_t* logged_at) {
        *logged_at = end_;
        log_[end_++ & (kLength - 1)] = entry;
    }

    uint32_t predicted_;
    uint32_t next_;       // position of the prediction in the log
    uint32_t end_;        // position of the next use that is logged
    uint32_t round_;      // length of the loop that is being repeated; 0: none
    uint32_t hit_count_;  // since the last miss, outside of a loop
    uint32_t log_[kLength];
};

// Predicts the next of many keys. Key: comparable, trivial; the key of zeros is the first
// prediction. kSize: a power of two. Besides keys it can predict plain numbers below kNumberCount,
// which need no entry.
template <class Key, uint32_t kSize, uint32_t kNumberCount = 0>
class Predictor {
public:
    // The key that should come next; the key of zeros if a plain number should.
    const Key& predicted() const { return entries_[is_number() ? 0 : log_.predicted()].key; }
    // The plain number that should come next; kNumberCount or more: a key should.
    uint32_t predicted_number() const { return log_.predicted() - kFirstNumber; }
    // Fetches the entry of the key that should come after the next.
    void prefetch_second() const {
        const uint32_t second = log_.predicted_second();
        __builtin_prefetch(&entries_[second < kFirstNumber ? second : 0]);
    }

    // `key` came.
    template <class HashOf>
    void observe(const Key& key, HashOf hash_of) {
        if (__builtin_expect(predicted() == key && !is_number(), 1)) {
            hit();
        } else {
            miss_slow(key, hash_of);
        }
        __builtin_prefetch(&predicted());
    }
    // A plain number other than predicted_number() came.
    void miss_number(uint32_t number) {
        log_.miss(kFirstNumber + number, logged_at(kFirstNumber + number));
    }
    // The prediction was right.
    void hit() {
        log_.hit([this](uint32_t entry) { return logged_at(entry); });
    }
    uint32_t hit_count() const { return log_.hit_count(); }
    // From now on predicts only keys that come after this call, or the key of zeros.
    void forget() {
        for (uint32_t number = 1; number <= numbers_.taken_count(); ++number) {
            entries_[number].key = Key{};
        }
    }

private:
    struct Entry {
        Key key;
        uint32_t logged_at;
    };
    static constexpr uint32_t kFirstNumber = kSize + 1;

    bool is_number() const { return kNumberCount != 0 && log_.predicted() >= kFirstNumber; }
    uint32_t* logged_at(uint32_t entry) {
        return kNumberCount != 0 && entry >= kFirstNumber ? &number_logged_at_[entry - kFirstNumber]
                                                          : &entries_[entry].logged_at;
    }

    template <class HashOf>
    [[gnu::noinline]] void miss_slow(Key key, HashOf hash_of) {
        const auto hash = hash_of(key);
        uint32_t number =
            numbers_.find(hash, [&](uint32_t one) { return entries_[one].key == key; });
        if (number == 0) {
            number = numbers_.take(hash);
            entries_[number].key = key;
        }
        log_.miss(number, &entries_[number].logged_at);
    }

    SequencePredictor<2 * kSize> log_;
    EntryNumbers<kSize> numbers_;
    Entry entries_[kSize + 1];
    uint32_t number_logged_at_[std::max(kNumberCount, 1U)];
};
// NOLINTEND(cppcoreguidelines-pro-type-member-init)

}  // namespace peakline::record
