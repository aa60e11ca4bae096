// The stream that is current on a thread, known without asking torch at every allocation.
//
// Note [Current stream]
// Torch keeps it in a thread-local of libc10_cuda; to ask is a call of 110 instructions, a sixth of
// what recording an allocation without stacks takes. It changes only in
// c10::cuda::setCurrentCUDAStream, which every library reaches through its import table. So these
// imports are redirected, and a call with another stream forgets what its thread knows. A library
// loaded later may call unseen: while libraries_added() is not what it was before the imports were
// redirected last, torch is asked every time.
#pragma once

#include <cstdint>

#include "allocator/capture/libraries/loader_counts.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Adds it to the functions that are hooked in every library. Where libc10_cuda does not import its
// own function, calls within it would not be seen, and torch is asked every time.
void add_stream_hook();

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
