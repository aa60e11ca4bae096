// Working memory of a capturing thread: raw frames, text, and the mark "this thread is reading
// Python frames now". See allocator/capture/threads/thread_blocks.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/record/tables/numbered_cache.h"
#include "allocator/record/tables/prefetch.h"
#include "frame_walker.h"
#include "known_frames.h"

namespace peakline::pyhook {

inline constexpr size_t kMaxTextBytes = 4096;

// Hash of a raw stack, see Note [Hash of a stack].
struct StackKey {
    uint64_t low;
    uint64_t high;

    bool operator==(const StackKey&) const = default;
};

// A stack that is compared before a hash is computed. See Note [Known stacks] in known_frames.h.
struct alignas(record::kCacheLine) KnownStack {
    KnownFrames frames;
    uint64_t key;    // StackKey::low, of a stack with the same frames
    uint64_t epoch;  // of the code table; 0: unknown
    uint32_t node;
    uint32_t unused;
};
static_assert(sizeof(KnownStack) == record::kCacheLine);

struct ThreadScratch {
    static constexpr size_t kStacks = 16384;

    // Written by the owning thread only; read by the thread that ends the interpreter.
    std::atomic<uint32_t> is_capturing;
    record::NumberedCache<StackKey, kStacks> stacks;  // looked up before the table of all threads
    KnownStack known[kStacks + 1];  // by the numbers of `stacks`; 0: the stack without frames
    RawFrame frames[kEntriesPerFrame * kMaxFrames];
    char text[kMaxTextBytes];
};

// initial-exec: a plain load, without a call that might allocate. A library loaded late may still
// take eight bytes of static TLS.
extern constinit thread_local ThreadScratch* g_own_scratch
    __attribute__((tls_model("initial-exec")));

// Call it once, before the first capture. Returns false if the process has no pthread key left.
bool init_thread_scratch();

// Gets a block for a thread without one; nullptr when out of memory.
ThreadScratch* take_scratch_slow();

inline ThreadScratch* thread_scratch() {
    ThreadScratch* const scratch = g_own_scratch;
    return __builtin_expect(scratch != nullptr, 1) ? scratch : take_scratch_slow();
}

// Waits for all captures of other threads that began before the call, at most one second. The
// caller must have closed the gate, see Note [End of the interpreter].
void wait_for_captures_slow();

// In the child of fork: frees the blocks of threads that do not exist there.
void free_scratch_of_lost_threads();

}  // namespace peakline::pyhook
