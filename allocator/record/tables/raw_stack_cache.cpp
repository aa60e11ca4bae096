#include "raw_stack_cache.h"

namespace peakline::record {

bool RawStackCache::init(size_t capacity) {
    if (!entries_.reserve(capacity) || !entries_.resize_untouched(capacity)) {
        return false;
    }
    mask_ = capacity - 1;
    return true;
}

void RawStackCache::clear() {
    for (Entry& entry : entries_) {
        // release: a thread that still sees the old id sees the old hash with it.
        store(entry.id, uint32_t{0}, std::memory_order_release);
    }
    used_ = 0;
}

void RawStackCache::insert(uint64_t low, uint64_t high, uint32_t id) {
    const LockGuard guard(lock_);
    if ((used_ + 1) * 2 > entries_.size()) {
        clear();
    }
    if (mask_ == 0) {
        return;  // before init()
    }
    size_t i = low & mask_;
    for (size_t probes = 0; probes < kMaxProbes; i = (i + 1) & mask_, ++probes) {
        Entry& entry = entries_[i];
        if (entry.id == 0) {
            ++used_;
            // release fence: a reader that sees the new hash also sees the id was 0 before it.
            std::atomic_thread_fence(std::memory_order_release);
            store(entry.low, low, std::memory_order_relaxed);
            store(entry.high, high, std::memory_order_relaxed);
            store(entry.id, id, std::memory_order_release);
            return;
        }
        if (entry.low == low && entry.high == high) {
            return;
        }
    }
    // A run this long is bad luck, not a full table: the entry is not cached and takes the slow way
    // again.
}

}  // namespace peakline::record
