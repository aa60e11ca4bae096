// The Python stack of the calling thread as one id. The recorder calls this at an allocation.
#pragma once

#include <cstdint>

#include "allocator/record/tables/stack_table.h"

namespace peakline::pyhook {

// Maps the caches. attach() calls it before the gate opens. Returns false when out of memory.
bool init_python_stacks();

// The leaf node in `table` of this thread's Python frames; 0: no Python frames, or Python is off.
// Sets bits of format::ContextFlags in `*flags`: kStackTruncated when the stack is deeper than
// kMaxFrames (outer frames are cut), kStackUnrecorded when a table is full. `*number`: on entry,
// the entry of the thread's cache to compare first, or 0; on return, the entry of this stack, or 0
// without frames. Any thread may call it, with or without the GIL. `table` must stay the same until
// forget_python_stacks().
//
// Note [Capture inside the interpreter]
// This may run while CPython is inside malloc, the garbage collector, a deallocator or one of its
// locks. So it takes no Python lock, calls no Python function that might, changes no object and
// allocates nothing. Its own locks are leaves. See Note [Walking without the GIL].
uint32_t capture_python_stack(record::StackTable& table, uint32_t* flags, uint32_t* number);

// Predicts entry `number` of this thread's cache (0: the stack without frames). Returns its node if
// it is this thread's stack now, else capture::kOtherStack, which means nothing.
uint32_t predicted_python_stack(uint32_t number);

// Prefetches that entry of the thread's cache.
void fetch_python_stack(uint32_t number);

// From now on stacks include the first local variable of these code objects only, at most
// kMaxWatchedMethods. The caller keeps the code alive and guarantees that the variable is never
// assigned and is not a cell.
void watch_methods(const uint64_t* codes, size_t count);

// The object of the innermost watched method of this thread's stack; 0: none.
uint64_t own_instance();

// Allows another table in later captures. No capture may run meanwhile.
void forget_python_stacks();

// Handlers for pthread_atfork. From prepare until the other handler, this thread must neither
// capture nor run Python: a code object that dies would wait for our lock. So Python's
// os.register_at_fork does not work: it runs handlers of the program in between.
void prepare_fork();
void parent_after_fork();
void child_after_fork();

}  // namespace peakline::pyhook
