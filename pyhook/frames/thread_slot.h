// The word in which PyGILState_GetThisThreadState finds the thread state, to be read without three
// calls between libraries. Hot path; found by attach().
//
// Note [Slot of the thread state]
// Up to 3.13 CPython keeps each thread's state under a pthread key (PEP 539). glibc keeps the
// values of the first 32 keys in the thread's own block, at a fixed distance from the thread
// pointer (pthread_key_data: a sequence number and the value, 16 bytes). The distance is not
// assumed: a key of our own is given a value, and the word that changes with it is looked for; the
// key is the one whose value the getter returns. Found or not, the getter stays right; the slot is
// no longer believed once the key may be another:
//   - in the child of fork, where CPython makes a new one;
//   - when the interpreter begins to end: the key will go, the word stays.
#pragma once

#include <cstddef>

#include "frame_walker.h"

namespace peakline::pyhook {

// Distance from the thread pointer, the same in every thread; 0: there is none to be found. Call
// with the GIL, on a thread for which `getter` has a state.
ptrdiff_t find_thread_slot(ThreadStateGetter getter);

inline void* read_thread_slot(ptrdiff_t slot) {
    return *reinterpret_cast<void* const*>(static_cast<char*>(__builtin_thread_pointer()) + slot);
}

}  // namespace peakline::pyhook
