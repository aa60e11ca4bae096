// Shared beginning and end of the simulated runtime's entry points: a current context, and the
// thread's last error. The runtime is a thin layer over the public driver API. Its error codes are
// the driver's numbers, with the few exceptions that CUDA documents.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "model/base/support.h"

namespace simgpu {

// Remembers a failure as the thread's last error and returns it.
cudaError_t finish(CUresult result);
cudaError_t finish(cudaError_t error);

// Makes the primary context of the thread's device current; creates it on first use.
CUresult ensure_context();

// The device chosen by this thread, whether or not it has a context yet.
int chosen_device();

// cudaErrorNoDevice when there is none.
cudaError_t check_device(int device);

// The kernel of a host stub. A CUfunction or cudaKernel_t in its place is returned unchanged.
CUfunction kernel_of(const void* host_stub);

inline CUdeviceptr address_of(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace simgpu

#define SIMGPU_CONTEXT()                                          \
    if (const CUresult context_result = simgpu::ensure_context(); \
        context_result != CUDA_SUCCESS) {                         \
        return simgpu::finish(context_result);                    \
    }

#define SIMGPU_REQUIRE_VALUE(condition)               \
    if (!(condition)) {                               \
        return simgpu::finish(cudaErrorInvalidValue); \
    }
