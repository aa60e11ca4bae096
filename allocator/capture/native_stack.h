// The native stack of this thread as a StackTable node. libunwind's unw_backtrace with its
// per-thread cache walks; the whole stack is hashed and met again in a cache.
// Takes no lock of ours while it walks, allocates nothing in steady state.
#pragma once

#include <cstdint>

#include "allocator/record/stack_table.h"
#include "thread_state.h"

namespace peakline::capture {

// Call once before the first capture. False when memory cannot be mapped.
bool init_native_stacks();

// Node of the innermost frame outside peakline, 0 when there is none. Sets
// format::kStackTruncated in *flags when the stack is deeper than kMaxNativeFrames.
uint32_t capture_native_stack(record::StackTable& table, ThreadState& state, uint32_t* flags);

}  // namespace peakline::capture
