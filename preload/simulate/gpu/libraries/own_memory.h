// The device memory that a library allocates per handle, like the real one.
#pragma once

#include <cuda_runtime_api.h>

#include "model/base/support.h"

// Returns false when the device is full. memory is null if the constant is zero.
inline bool take_own_memory(int kind, void** memory) {
    cudaFree(nullptr);  // a handle needs the device's context
    const size_t bytes = peakline_sim_handle_bytes(kind);
    *memory = nullptr;
    return bytes == 0 || cudaMalloc(memory, bytes) == cudaSuccess;
}
