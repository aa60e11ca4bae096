// The memory word from which PyGILState_GetThisThreadState reads the thread state. Reading it
// directly avoids three calls between libraries. Hot path; attach() finds it.
//
// Note [Slot of the thread state]
// Up to 3.13 CPython keeps each thread's state under a pthread key (PEP 539). glibc keeps the
// values of the first 32 keys in the thread's own block, at a fixed distance from the thread
// pointer (pthread_key_data: a sequence number and the value, 16 bytes). We measure this distance:
// we set a key of our own and search the word that changes with it. CPython's key is the one with
// the getter's value. The getter stays correct in any case. The slot is no longer used once the key
// may have changed:
//   - in the child of fork, where CPython creates a new key;
//   - when the interpreter begins to end: the key is deleted, but the word stays.
#pragma once

#include <cstddef>

#include "frame_walker.h"

namespace peakline::pyhook {

// Distance from the thread pointer, the same in every thread; 0: not found. Call it with the GIL,
// on a thread for which `getter` has a state.
ptrdiff_t find_thread_slot(ThreadStateGetter getter);

inline void* read_thread_slot(ptrdiff_t slot) {
    return *reinterpret_cast<void* const*>(static_cast<char*>(__builtin_thread_pointer()) + slot);
}

}  // namespace peakline::pyhook
