// The current stream of a thread, known without calling torch at every allocation.
//
// Note [Current stream]
// Torch keeps the current stream in a thread-local of libc10_cuda. Reading it is a call of 110
// instructions, a sixth of the cost of recording an allocation without stacks. It changes only in
// c10::cuda::setCurrentCUDAStream, which every library reaches through its import table. So we
// redirect these imports, and a call with another stream clears the thread's cached value. A
// library loaded later may call unseen. While libraries_added() differs from its value at the last
// redirect, torch is called every time.
#pragma once

#include <cstdint>

#include "allocator/capture/libraries/loader_counts.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Hooks it in every library. If libc10_cuda does not import its own function, calls inside it are
// invisible, and torch is called every time.
void add_stream_hook();

[[gnu::noinline]] uint32_t current_stream_slow(const torch_part::Part& part,
                                               capture::KnownStream& known,
                                               uint32_t device);
// Id of the current stream of this thread, given its state.
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
