// The native stack of this thread as a StackTable node. There are three ways, each falling back on
// the next: the thread's memo of verified stacks, a walk by rules, libunwind's unw_backtrace. All
// give the same frames: those of libunwind, leaf first, from our caller outwards. Takes none of our
// locks while it walks, allocates nothing in steady state.
#pragma once

#include <cstdint>

#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/tables/stack_table.h"
#include "native_thread.h"

namespace peakline::capture {

// Call once before the first capture. False when memory cannot be mapped.
bool init_native_stacks();

// Node of the calling frame, 0 if there is none. Sets format::kStackTruncated in *flags if the
// stack is deeper than kMaxNativeFrames, format::kStackUnrecorded if there was no room, or if a
// signal handler calls this inside a capture of the same thread. `*number`: the memo's entry to
// compare first, see Predictor; afterwards the entry of this stack.
uint32_t capture_native_stack(record::StackTable& table,
                              ThreadState& state,
                              uint32_t* flags,
                              uint32_t* number);

// Fetches an entry of this thread's memo into the caches.
inline void prefetch_native_stack(uint32_t number) {
    const NativeThread* thread = g_native_thread;
    if (number != 0 && thread != nullptr) {
        thread->memo.prefetch(number);
    }
}

}  // namespace peakline::capture
