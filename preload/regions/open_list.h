// Things that the program has begun and not ended, in the order of their begin. Used by open_marks
// and open_regions.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <pthread.h>

#include "allocator/record/tables/leaf_lock.h"

namespace peakline::preload {

// More open at once are recorded, but not begun again by a trace that opens later.
inline constexpr size_t kMaxOpen = 64;

// The members other than `lock` are guarded by it; the caller holds it.
template <class Item>
struct OpenList {
    static_assert(std::is_trivially_copyable_v<Item>);

    record::LeafLock lock;
    Item items[kMaxOpen];
    size_t count = 0;

    // False when there is no room.
    bool add(const Item& item) {
        if (count == kMaxOpen) {
            return false;
        }
        items[count++] = item;
        return true;
    }
    void remove_at(size_t index) {
        --count;
        memmove(&items[index], &items[index + 1], (count - index) * sizeof items[0]);
    }
    // The innermost of those that are_named, of this thread (is_own) if there is one: another
    // thread, or a child of fork, may end what it did not begin. kMaxOpen: none.
    template <class IsNamed, class IsOwn>
    size_t innermost(IsNamed is_named, IsOwn is_own) const {
        size_t found = kMaxOpen;
        for (size_t i = 0; i < count; ++i) {
            if (is_named(items[i]) &&
                (found == kMaxOpen || is_own(items[i]) || !is_own(items[found]))) {
                found = i;
            }
        }
        return found;
    }
    // Copies of those that are_wanted; returns how many. wanted(item) may change it.
    template <class Wanted>
    size_t copy(Item* copies, Wanted wanted) {
        size_t copied = 0;
        for (size_t i = 0; i < count; ++i) {
            if (wanted(items[i])) {
                copies[copied++] = items[i];
            }
        }
        return copied;
    }
};

// Holds the lock of the list over forks, see Note [Fork] in life_cycle.cpp. To be called once. No
// other lock is taken under it.
template <auto kList>
void watch_forks() {
    pthread_atfork([] { kList().lock.lock(); },
                   [] { kList().lock.unlock(); },
                   [] { kList().lock.reset_after_fork(); });
}

}  // namespace peakline::preload
