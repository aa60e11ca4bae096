// 128-bit hash -> id, read without a lock on the hot path. Assumes that a 128-bit hash never
// collides; the caller's hash must cover everything that the id depends on. find() may run on any
// thread at any time; insert() is serialised by its own leaf lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leaf_lock.h"
#include "mapped_array.h"

namespace peakline::record {

class RawStackCache {
public:
    // `capacity`: a power of two. False when memory cannot be mapped.
    bool init(size_t capacity);

    // 0: absent, like every entry before init() and in a fork child's zeros.
    uint32_t find(uint64_t low, uint64_t high) const {
        if (mask_ == 0) {
            return 0;
        }
        for (size_t i = low & mask_, probes = 0; probes < kMaxProbes;
             i = (i + 1) & mask_, ++probes) {
            const Entry& entry = entries_[i];
            // acquire: the hash stored before this id is visible.
            const uint32_t id = load(entry.id, std::memory_order_acquire);
            if (id == 0) {
                return 0;
            }
            if (load(entry.low, std::memory_order_relaxed) == low &&
                load(entry.high, std::memory_order_relaxed) == high) {
                // The entry may have been cleared and reused in between: trust it only if the id is
                // unchanged. acquire keeps this load after the two above.
                std::atomic_thread_fence(std::memory_order_acquire);
                return load(entry.id, std::memory_order_relaxed) == id ? id : 0;
            }
        }
        return 0;
    }

    // Ids never change their meaning, so a full cache is simply emptied: used entries come back.
    void insert(uint64_t low, uint64_t high, uint32_t id);

    void prepare_fork() { lock_.lock(); }
    void parent_after_fork() { lock_.unlock(); }
    void child_after_fork() { lock_.reset_after_fork(); }

private:
    struct Entry {
        uint64_t low;
        uint64_t high;
        uint32_t id;
        uint32_t unused;
    };
    static constexpr size_t kMaxProbes = 64;

    template <class T>
    static T load(const T& value, std::memory_order order) {
        return std::atomic_ref<T>(const_cast<T&>(value)).load(order);
    }
    template <class T>
    static void store(T& target, T value, std::memory_order order) {
        std::atomic_ref<T>(target).store(value, order);
    }
    void clear();

    MappedArray<Entry> entries_;  // Written under lock_, read by every thread.
    size_t mask_ = 0;
    size_t used_ = 0;  // Guarded by lock_.
    LeafLock lock_;
};

}  // namespace peakline::record
