// Where a companion plugs in that knows the program's operators: it is called at every read of
// values that do not exist, may say what they are, and computes small operators so that flags,
// counters and lengths stay true. The simulated GPU works without one; nothing of the companion is
// known here but these functions, all plain C, exported by libcuda.so.1.
//
// PEAKLINE_SIM_COMPANION names a library. The first context loads it; its constructor registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/base/support.h"

extern "C" {

// A copy to the host whose bytes are not all true: `host` holds them, zero or computed from zeros,
// and may be changed. Called on the copying thread, without any lock of the model.
using peakline_sim_read_handler = void (*)(void* host, size_t bytes);
}

SIMGPU_API void peakline_sim_set_read_handler(peakline_sim_read_handler handler);

// Who lists such reads when nobody records them. The companion asks for the listener and reports to
// it the running operators, outermost first ("aten::index>aten::nonzero"), and what is read: 1 a
// size, 2 floating-point numbers, 0 anything else.
extern "C" {
using peakline_sim_read_listener = void (*)(const char* operators, size_t bytes, int kind);
}
SIMGPU_API void peakline_sim_set_read_listener(peakline_sim_read_listener listener);
SIMGPU_API peakline_sim_read_listener peakline_sim_get_read_listener(void);

// What the calling thread does from now on. launches_are_reported: the companion says what its
// launches write, so they forget nothing. reads_are_guessed: it copies what an operator keeps for
// itself, so what is known of these addresses belongs to memory that was given back.
SIMGPU_API void peakline_sim_set_operator(int launches_are_reported, int reads_are_guessed);

// What device memory holds: 2 all of it true, 1 some of it known or computed from zeros, 0 nothing
// known, -1 not device memory in use, -2 another rank is still to deliver it. Unknown bytes are
// left alone.
SIMGPU_API int peakline_sim_read_values(const void* device, size_t bytes, void* host);
SIMGPU_API void peakline_sim_write_values(void* device,
                                          size_t bytes,
                                          const void* host,
                                          int is_exact);
SIMGPU_API void peakline_sim_forget_values(void* device, size_t bytes);
// The framework's allocator gave out a block of its memory.
SIMGPU_API void peakline_sim_begin_block(void* device, size_t bytes);
// Whether anything is being captured: then operators run later, with other values.
SIMGPU_API int peakline_sim_is_capturing(void);
// Returns when the other ranks have delivered what they are to, or a rank is gone.
SIMGPU_API void peakline_sim_await_values(const void* device, size_t bytes);
// Whether a collective was ever called: else nothing reads as -2.
SIMGPU_API int peakline_sim_may_await_others(void);

namespace simgpu {

// Loads the companion once. Must be called without the world's lock.
void load_companion();

}  // namespace simgpu
