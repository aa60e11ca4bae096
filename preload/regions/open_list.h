// Items that the program has begun and not ended, in the order they began. Used by open_marks and
// open_regions.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <pthread.h>

#include "allocator/record/tables/leaf_lock.h"

namespace peakline::preload {

// Items beyond this are recorded, but a trace that opens later does not begin with them.
inline constexpr size_t kMaxOpen = 64;

// The caller holds `lock`, which guards the other members.
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
    // The innermost item that is_named, preferably one of this thread (is_own): another thread, or
    // a child of fork, may end an item. kMaxOpen: none.
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
    // Copies the items for which wanted(item) is true, and returns their number. wanted(item) may
    // change the item.
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

// Registers handlers that hold the list's lock over forks, see Note [Fork] in life_cycle.cpp. Call
// once. No other lock is taken under it.
template <auto kList>
void watch_forks() {
    pthread_atfork([] { kList().lock.lock(); },
                   [] { kList().lock.unlock(); },
                   [] { kList().lock.reset_after_fork(); });
}

}  // namespace peakline::preload
