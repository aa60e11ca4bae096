// The Python stack of the calling thread as one id. What the recorder calls at an allocation.
#pragma once

#include <cstdint>

#include "allocator/record/tables/stack_table.h"

namespace peakline::pyhook {

// Maps the caches. Called by attach() before the gate opens; false when memory is refused.
bool init_python_stacks();

// The leaf node in `table` of this thread's Python frames; 0: no Python frames here, or Python is
// off. Sets bits of format::ContextFlags in `*flags`: kStackTruncated when the stack is deeper
// than kMaxFrames (the root side is cut), kStackUnrecorded when there is a stack but no room.
// `*number`: of the entry of the thread's cache that is compared first, 0: none; afterwards of
// this stack's, 0 without frames. Any thread, with or without the GIL. Always the same table, until
// forget_python_stacks().
//
// Note [Capture inside the interpreter]
// This may run while CPython is inside malloc, the garbage collector, a deallocator or a lock of
// its own: it takes no Python lock, calls no Python function that could, changes no object and
// allocates nothing; its own locks are leaves. See Note [Walking without the GIL].
uint32_t capture_python_stack(record::StackTable& table, uint32_t* flags, uint32_t* number);

// Of the entry `number` of this thread's cache, or of the stack without frames, 0: its node, when
// it is this thread's stack now; else capture::kOtherStack, which says nothing.
uint32_t predicted_python_stack(uint32_t number);

// Fetches that entry of the thread's cache ahead.
void fetch_python_stack(uint32_t number);

// Stacks hold the first local variable of these code objects from now on, and of no others; at most
// kMaxWatchedMethods count. The caller keeps the code alive and knows that the variable is never
// assigned and no cell.
void watch_methods(const uint64_t* codes, size_t count);

// The object of the innermost watched method of this thread's stack; 0: nothing.
uint64_t own_instance();

// The next captures may use another table. No capture may run meanwhile.
void forget_python_stacks();

// Around fork, from pthread_atfork handlers. Between prepare and the others this thread must
// neither capture nor run Python: a code object that dies would wait for our lock. So Python's own
// os.register_at_fork, which runs handlers of the program in between, is not the place.
void prepare_fork();
void parent_after_fork();
void child_after_fork();

}  // namespace peakline::pyhook
