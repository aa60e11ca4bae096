// Runs a function with a descriptor table of its own. The program's table is neither read nor
// changed: none of its numbers is taken, and none of its files is reachable by a number that the
// program has given to another file meanwhile. Used for every file that we open in the program.
#pragma once

#include <utility>

namespace peakline::record {

// Note [Own descriptors]
// A program may close any number (daemons do), dup2 over any, or be at the limit of RLIMIT_NOFILE;
// another of its threads may do so between our open() and our close(). So the work runs on a kernel
// thread that lives for some 50 us and shares everything except the descriptors: memory,
// thread-local storage (errno, too), working directory. The caller waits for its end.
// * All signals are blocked on it: SIGXFSZ of a write beyond RLIMIT_FSIZE ends with it.
// * The work must not take locks that the C library ties to a thread, nor allocate, nor return by
//   an exception. It may use some 48 KiB of stack.
// * A mapping that it makes stays, and keeps the open file: a flock is held as long as the
//   mapping exists.

// Descriptors 0 to 2 of the program stay visible in the new table, or none do.
enum class KeptDescriptors : unsigned { kNone = 0, kStandard = 3 };

// Returns 0 when the work was done, else an errno, and then it was not begun. Preserves errno.
int run_with_own_descriptors(KeptDescriptors kept, void (*work)(void*), void* argument);

template <class Work>
int with_own_descriptors(Work work, KeptDescriptors kept = KeptDescriptors::kNone) {
    return run_with_own_descriptors(
        kept, [](void* argument) { (*static_cast<Work*>(argument))(); }, &work);
}

}  // namespace peakline::record
