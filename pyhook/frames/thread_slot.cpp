#include "thread_slot.h"

#include <cstdint>

#include <pthread.h>

#include "allocator/record/tables/signals_blocked.h"

namespace peakline::pyhook {
namespace {

struct KeyData {
    uintptr_t sequence;
    void* value;
};
constexpr pthread_key_t kInlineKeys = 32;
// Searched bytes of a thread's block. The block is larger in every glibc.
constexpr ptrdiff_t kSearchedBytes = 0x600;

// The offset of the only word of this thread's block that equals `value`; 0: none, or several.
ptrdiff_t offset_of(const void* value) {
    ptrdiff_t found = 0;
    for (ptrdiff_t offset = sizeof(void*); offset < kSearchedBytes; offset += sizeof(void*)) {
        if (read_thread_slot(offset) == value) {
            if (found != 0) {
                return 0;
            }
            found = offset;
        }
    }
    return found;
}

// The offset of the value of the first key; 0: unknown.
ptrdiff_t offset_of_first_key() {
    pthread_key_t key = 0;
    if (pthread_key_create(&key, nullptr) != 0) {
        return 0;
    }
    const char marks[2] = {};
    ptrdiff_t offsets[2] = {};
    for (size_t i = 0; i < 2 && key < kInlineKeys; ++i) {
        pthread_setspecific(key, &marks[i]);
        offsets[i] = offset_of(&marks[i]);
    }
    pthread_setspecific(key, nullptr);
    pthread_key_delete(key);
    const auto distance = static_cast<ptrdiff_t>(key * sizeof(KeyData));
    return offsets[0] == offsets[1] && offsets[0] > distance ? offsets[0] - distance : 0;
}

// Whether `getter` returns the value of this key, which is `value` before and after.
bool is_key_of(pthread_key_t key, ThreadStateGetter getter, const void* value) {
    const record::SignalsBlocked blocked;  // a handler may read the thread state
    const char mark = 0;
    if (pthread_setspecific(key, &mark) != 0) {
        return false;
    }
    const bool is_it = getter() == &mark;
    pthread_setspecific(key, value);
    return is_it;
}

}  // namespace

ptrdiff_t find_thread_slot(ThreadStateGetter getter) {
    const void* const thread = getter();
    const ptrdiff_t first = thread != nullptr ? offset_of_first_key() : 0;
    for (pthread_key_t key = 0; key < kInlineKeys && first != 0; ++key) {
        const ptrdiff_t offset = first + static_cast<ptrdiff_t>(key * sizeof(KeyData));
        if (read_thread_slot(offset) == thread && is_key_of(key, getter, thread)) {
            return offset;
        }
    }
    return 0;
}

}  // namespace peakline::pyhook
