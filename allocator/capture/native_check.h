// A build with -DPEAKLINE_CHECK_NATIVE compares every captured stack with libunwind's slow
// stepper and keeps count in the file $PEAKLINE_NATIVE_CHECK/PID. For development: thousands of
// times slower. Any other build has nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/capture/unwind/native_stepper.h"

namespace peakline::capture {

// The node under which a stack is known, 0 when it is not.
using FindStack = uint32_t (*)(void* const* frames, size_t count);

#ifdef PEAKLINE_CHECK_NATIVE
// `node` is what the capture that began at `start` gave.
void check_native_stack(const Registers& start, uint32_t node, FindStack find);
#else
inline void check_native_stack(const Registers&, uint32_t, FindStack) {}
#endif

}  // namespace peakline::capture
