// The state of native capture of each thread: bounds of its stack, room for a walk, its memo.
// See thread_blocks.h. Only the owning thread uses its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/capture/memo/stack_memo.h"
#include "allocator/capture/unwind/native_stepper.h"
#include "allocator/capture/unwind/unwind_rules.h"

namespace peakline::capture {

inline constexpr size_t kMemoSets = 512;
inline constexpr size_t kOwnFramesRoom = 16;  // our frames below the start in libunwind's result

inline constexpr uint64_t kNeverAsked = ~uint64_t{0};

// The sources of this thread's captures; for tests and measurements.
struct NativeCounts {
    uint64_t memo_hits = 0;
    uint64_t walks = 0;
    uint64_t fallbacks = 0;  // libunwind's
};

struct NativeThread {
    StackBounds bounds;
    // Set: a signal handler of this thread that captures gets no stack.
    bool is_capturing = false;
    uint32_t captures_to_loader_check = kCapturesPerLoaderCheck;
    uint64_t libraries_added = kNeverAsked;  // at this thread's last query of the loader
    NativeCounts counts;
    StackMemo memo;
    bool has_memo = false;
    Walk walk{};
    void* fallback_frames[kMaxNativeFrames + kOwnFramesRoom] = {};
};

// This thread's state; nullptr without memory.
NativeThread* native_thread_slow();
// In the child of fork.
void free_native_state_of_lost_threads();

extern constinit thread_local NativeThread* g_native_thread
    __attribute__((tls_model("initial-exec")));

inline NativeThread* native_thread() {
    NativeThread* thread = g_native_thread;
    return thread != nullptr ? thread : native_thread_slow();
}

}  // namespace peakline::capture
