// Pages of the trace file that the file no longer backs. Another process may truncate the file at
// any moment; the next store to a page behind its new end raises SIGBUS. We handle that signal:
// the page becomes memory of its own, and is_lost() is true from then on.
#pragma once

#include <csignal>
#include <cstddef>

namespace peakline::record::page_guard {

// Note [Truncated pages]
// Only a system call could store without this signal, and an event must not make one. The handler
// looks at the address: what lies in a watched range is ours, everything else goes where it would
// have gone without us, with the flags and the mask that the program wanted. The program's own
// sigaction(SIGBUS) is led to program_action() by the preloaded library, so that it sees and
// replaces its own action only. Where it is not (switch_allocator() alone, system calls), watch()
// takes the signal again. A thread that blocks SIGBUS is ended by the kernel all the same.

// Takes SIGBUS for one file; forgets the ranges and the losses of the file before.
void begin();
// Gives the program its action back, and forgets the ranges.
void end();
// In the child of fork, which has none of the ranges.
void end_in_child();

// At most kMaxRanges at a time; false: none is left. Takes SIGBUS where somebody else took it.
inline constexpr size_t kMaxRanges = 8;
bool watch(void* begin, size_t bytes);
void unwatch(void* begin);

// A page of a watched range was lost since begin().
bool is_lost();

// sigaction(SIGBUS, wanted, before) of the program, while we have the signal; either may be null.
// False: call the real one.
bool program_action(const struct sigaction* wanted, struct sigaction* before);

}  // namespace peakline::record::page_guard
