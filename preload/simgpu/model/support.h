// What the simulated libraries may ask of the simulated driver beyond the public CUDA API.
// Plain C, exported by libcuda.so.1, called by hand-written and generated code alike.
// Not for programs: nothing outside preload/simgpu calls these.
#pragma once

#include <stddef.h>

#define SIMGPU_API extern "C" __attribute__((visibility("default")))

// Says once that a function is not modelled and which error it returned.
SIMGPU_API void peakline_sim_not_modelled(const char* function_name, const char* error_name);

// Notes a call of a generated stub that succeeded; shown with PEAKLINE_SIM_LOG=2.
SIMGPU_API void peakline_sim_called(const char* function_name);

// Library handles: zeroed, at least 64 bytes, with room for the stream they work on.
SIMGPU_API void* peakline_sim_new_handle(size_t bytes);
SIMGPU_API void peakline_sim_free_handle(void* handle);
SIMGPU_API void peakline_sim_set_stream(void* handle, void* stream);
SIMGPU_API void* peakline_sim_stream_of(void* handle);

// A library call that would run on the device: it becomes a node when the stream is captured.
SIMGPU_API void peakline_sim_work_on_handle(void* handle);
SIMGPU_API void peakline_sim_work_on_stream(void* stream);

// A collective that gives `to` what `from` holds, as far as the host wrote it. See
// model/exchange.h.
SIMGPU_API void peakline_sim_exchanged(void* to, const void* from, size_t bytes);

// Gives a host output a defined value; device addresses and null are left alone.
SIMGPU_API void peakline_sim_zero_output(void* output, size_t bytes);

// Memory in use and capacity of a device, without making a context on it.
SIMGPU_API int peakline_sim_device_memory(int device, size_t* used_bytes, size_t* capacity_bytes);

// The documented text of an error number (the driver and the runtime share their numbers).
SIMGPU_API const char* peakline_sim_error_text(int error);
