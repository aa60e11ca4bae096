// The stream that is current on a thread, known without asking torch at every allocation.
//
// Note [Current stream]
// Torch keeps it in a thread-local of libc10_cuda; to ask is a call of 110 instructions, a sixth of
// what recording an allocation without stacks takes. It changes only in
// c10::cuda::setCurrentCUDAStream, which every library reaches through its import table. So these
// imports are redirected, and a call with another stream forgets what its thread knows. A library
// loaded later may call unseen: while libraries_added() is not what it was before the imports were
// redirected last, torch is asked every time. Redirecting again looks at all libraries, so it waits
// for twice as many allocations each time.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/capture/loader_counts.h"
#include "allocator/capture/thread_state.h"
#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Redirects the imports. Call again after libraries were loaded. Where libc10_cuda does not import
// its own function, calls within it would not be seen, and torch is asked every time.
void hook_stream_changes();

// libraries_added() before the imports were redirected last. relaxed: compared with a count that
// only grows; an old value means that torch is asked.
extern std::atomic<uint64_t> g_stream_hook_libraries;

void hook_new_libraries_slow();
// At an allocation, where no lock of torch is held.
inline void hook_new_libraries_if_due() {
    if (__builtin_expect(
            g_stream_hook_libraries.load(std::memory_order_relaxed) != capture::libraries_added(),
            0)) {
        hook_new_libraries_slow();
    }
}

[[gnu::noinline]] uint32_t current_stream_slow(const torch_part::Part& part,
                                               capture::KnownStream& known,
                                               uint32_t device);
// Id of the stream that is current on this thread, whose state this is.
inline uint32_t current_stream(const torch_part::Part& part,
                               capture::ThreadState& state,
                               uint32_t device) {
    capture::KnownStream& known = state.known_stream;
    const uint64_t added = capture::libraries_added();
    if (known.libraries == added && known.device == device && added != capture::kUnknownLibraries)
        [[likely]] {
        return known.id;
    }
    return current_stream_slow(part, known, device);
}

}  // namespace peakline::preload
