// A build with -DPEAKLINE_CHECK_NATIVE compares every captured stack with libunwind's slow stepper
// and counts in the file $PEAKLINE_NATIVE_CHECK/PID. For development: thousands of times slower.
// Other builds contain none of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/capture/unwind/native_stepper.h"

namespace peakline::capture {

// Returns the node of a known stack, else 0.
using FindStack = uint32_t (*)(void* const* frames, size_t count);

#ifdef PEAKLINE_CHECK_NATIVE
// `node` is the result of the capture that began at `start`.
void check_native_stack(const Registers& start, uint32_t node, FindStack find);
#else
inline void check_native_stack(const Registers&, uint32_t, FindStack) {}
#endif

}  // namespace peakline::capture
