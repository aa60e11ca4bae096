// The interface for a companion that knows the program's operators. It is called at every read of
// values that do not exist, may supply the values, and computes small operators so that flags,
// counters and lengths stay correct. The simulated GPU also works without one, and knows only these
// functions of it: plain C, exported by libcuda.so.1.
//
// PEAKLINE_SIM_COMPANION names a library. The first context loads it; its constructor registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/base/support.h"

extern "C" {

// Called for a copy to the host with unknown or derived bytes: `host` holds them, zero or computed
// from zeros, and may be changed. Runs on the copying thread, without any lock of the model.
using peakline_sim_read_handler = void (*)(void* host, size_t bytes);
}

SIMGPU_API void peakline_sim_set_read_handler(peakline_sim_read_handler handler);

// The listener lists such reads when they are not recorded. The companion fetches it and passes the
// running operators, outermost first ("aten::index>aten::nonzero"), and the kind of value: 1 a
// size, 2 floating-point numbers, 0 anything else.
extern "C" {
using peakline_sim_read_listener = void (*)(const char* operators, size_t bytes, int kind);
}
SIMGPU_API void peakline_sim_set_read_listener(peakline_sim_read_listener listener);
SIMGPU_API peakline_sim_read_listener peakline_sim_get_read_listener(void);

// State of the calling thread from now on. launches_are_reported: the companion reports the outputs
// of its launches, so launches forget nothing. reads_are_guessed: the thread copies an operator's
// own temporary memory, so known contents of these addresses belong to an earlier block.
SIMGPU_API void peakline_sim_set_operator(int launches_are_reported, int reads_are_guessed);

// Copies known contents of device memory; leaves unknown bytes unchanged. `host` may be null.
// Returns 2 if all are exact, 1 if some are known or derived from zeros, 0 if none is known, -1 if
// it is not device memory in use, -2 if another rank has yet to deliver them.
SIMGPU_API int peakline_sim_read_values(const void* device, size_t bytes, void* host);
// kind: 1 if they are exact, plus 2 if they were chosen by the companion or follow from such
// values.
SIMGPU_API void peakline_sim_write_values(void* device, size_t bytes, const void* host, int kind);
// The device filled this memory with zeros.
SIMGPU_API void peakline_sim_zero_values(void* device, size_t bytes);
// Each byte is 1, the flag "true", taken as the result of a check of unknown values.
SIMGPU_API void peakline_sim_set_true(void* device, size_t bytes);
// Returns 2 if some of the known contents were chosen, plus 4 if all are zeros of a fill, plus 8 if
// all are from peakline_sim_set_true().
SIMGPU_API int peakline_sim_values_origin(const void* device, size_t bytes);
// From now on values above 256 KiB that the companion writes are remembered, too: `max_bytes` of
// them.
SIMGPU_API void peakline_sim_keep_large_values(size_t max_bytes);
SIMGPU_API void peakline_sim_forget_values(void* device, size_t bytes);
// The framework's allocator handed out a block of its memory.
SIMGPU_API void peakline_sim_begin_block(void* device, size_t bytes);
// Whether a stream is being captured: its operators run later, with other values.
SIMGPU_API int peakline_sim_is_capturing(void);
// Returns when the other ranks have delivered their data, or when a rank is gone.
SIMGPU_API void peakline_sim_await_values(const void* device, size_t bytes);
// Whether a collective was ever called. Without one, no read returns -2.
SIMGPU_API int peakline_sim_may_await_others(void);

namespace simgpu {

// Loads the companion once. Call it without the world's lock.
void load_companion();

}  // namespace simgpu
