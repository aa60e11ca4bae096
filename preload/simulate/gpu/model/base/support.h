// Functions of the simulated driver for the other simulated libraries, beyond the public CUDA API.
// Plain C, exported by libcuda.so.1. Hand-written and generated code calls them; nothing outside
// preload/simulate/gpu may.
#pragma once

#include <cstddef>

#define SIMGPU_API extern "C" __attribute__((visibility("default")))

// Reports, once, that a function is not modelled and the error it returned.
SIMGPU_API void peakline_sim_not_modelled(const char* function_name, const char* error_name);

// Notes a call of a generated stub that succeeded; shown with PEAKLINE_SIM_LOG=2.
SIMGPU_API void peakline_sim_called(const char* function_name);

// Library handles: zeroed, at least 64 bytes, with a field for their stream.
SIMGPU_API void* peakline_sim_new_handle(size_t bytes);
SIMGPU_API void peakline_sim_free_handle(void* handle);
SIMGPU_API void peakline_sim_set_stream(void* handle, void* stream);
SIMGPU_API void* peakline_sim_stream_of(void* handle);

// A library call that would run on the device. It becomes a node if the stream is captured.
SIMGPU_API void peakline_sim_work_on_handle(void* handle);
SIMGPU_API void peakline_sim_work_on_stream(void* stream);

// Communicators, see model/ranks/communicator.h. Processes pass the 16 bytes of an id on.
SIMGPU_API int peakline_sim_create_meeting(void* id);
// may_wait: the other ranks join from other threads or processes, so this call waits for them.
SIMGPU_API void* peakline_sim_join(const void* id, int rank, int rank_count, int may_wait);
// The other ranks of this communicator do not exist; see Note [A rank alone] in
// model/ranks/meeting.cpp.
SIMGPU_API int peakline_sim_is_alone(void* communicator);
SIMGPU_API void peakline_sim_leave(void* communicator);
SIMGPU_API int peakline_sim_gather_on_host(void* communicator,
                                           const void* from,
                                           size_t bytes,
                                           void* to);

enum {
    SIMGPU_REDUCE_NONE,
    SIMGPU_REDUCE_SUM,
    SIMGPU_REDUCE_PRODUCT,
    SIMGPU_REDUCE_MAX,
    SIMGPU_REDUCE_MIN,
    SIMGPU_REDUCE_AVERAGE,
    SIMGPU_REDUCE_OTHER,
};
enum {
    SIMGPU_ELEMENT_INT8,
    SIMGPU_ELEMENT_UINT8,
    SIMGPU_ELEMENT_INT32,
    SIMGPU_ELEMENT_UINT32,
    SIMGPU_ELEMENT_INT64,
    SIMGPU_ELEMENT_UINT64,
    SIMGPU_ELEMENT_FLOAT32,
    SIMGPU_ELEMENT_FLOAT64,
    SIMGPU_ELEMENT_OTHER,
};

// A part of a rank's contribution (or of the reduced contributions), and its destination.
struct peakline_sim_output {
    void* to;
    int source_rank;
    size_t offset_bytes;
    size_t bytes;
};
// A collective from the view of one rank.
struct peakline_sim_collective {
    const void* from;
    size_t contributed_bytes;  // 0: only others contribute
    int reduction;
    int element;
    const struct peakline_sim_output* outputs;
    int output_count;
};
SIMGPU_API void peakline_sim_collective_on_stream(void* communicator,
                                                  const struct peakline_sim_collective* collective,
                                                  void* stream);
SIMGPU_API void peakline_sim_send_on_stream(
    void* communicator, int to_rank, const void* from, size_t bytes, void* stream);
SIMGPU_API void peakline_sim_receive_on_stream(
    void* communicator, int from_rank, void* to, size_t bytes, void* stream);

// Bytes of the current device that a library's handle takes.
enum { SIMGPU_CUBLAS_HANDLE, SIMGPU_CUDNN_HANDLE, SIMGPU_NCCL_COMMUNICATOR };
SIMGPU_API size_t peakline_sim_handle_bytes(int kind);

// Zeroes an output in host memory; device addresses and null are ignored.
SIMGPU_API void peakline_sim_zero_output(void* output, size_t bytes);

// A device as NVML reports it, also to programs that do not initialise CUDA and to forked children.
struct peakline_sim_device {
    const char* name;
    char uuid[64];  // "GPU-51585f66-..."
    int pci_bus;
    int compute_major;
    int compute_minor;
};
// `index` counts all devices, seen or not: NVML knows no CUDA_VISIBLE_DEVICES. Returns 0 if there
// is no such device.
SIMGPU_API int peakline_sim_find_device(int index, struct peakline_sim_device* device);

// Memory in use by all processes and capacity of a device, without making a context on it.
SIMGPU_API int peakline_sim_device_memory(int index, size_t* used_bytes, size_t* capacity_bytes);

// Bytes of a device that a process uses. The process 1 stands for those that are not simulated:
// PEAKLINE_SIM_CONSTANTS="other_processes_bytes=...".
struct peakline_sim_process {
    int pid;
    size_t bytes;
};
// Writes at most `room` of them; returns their number.
SIMGPU_API int peakline_sim_processes(int index, struct peakline_sim_process* processes, int room);

// Peak bytes in use on a device, everything included. 0: no such device.
SIMGPU_API size_t peakline_sim_most_used(int device);

// The documented text of an error number (the driver and the runtime share their numbers).
SIMGPU_API const char* peakline_sim_error_text(int error);
