// The thread's device, context and last error, and the calls that read them.

#include "runtime/runtime_state.h"

#include "runtime_error_names.inc"

namespace simgpu {
namespace {

thread_local cudaError_t g_last_error = cudaSuccess;
thread_local int g_device = 0;

}  // namespace

cudaError_t finish(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        g_last_error = error;
    }
    return error;
}

cudaError_t finish(CUresult result) {
    return finish(static_cast<cudaError_t>(result));
}

int chosen_device() {
    CUdevice device = 0;
    return cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : g_device;
}

cudaError_t check_device(int device) {
    int count = 0;
    if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) {
        return static_cast<cudaError_t>(result);
    }
    cuDeviceGetCount(&count);
    return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

CUresult ensure_context() {
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    if (context != nullptr) {
        return CUDA_SUCCESS;
    }
    if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) {
        return result;
    }
    const CUresult result = cuDevicePrimaryCtxRetain(&context, g_device);
    return result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result;
}

}  // namespace simgpu

SIMGPU_API cudaError_t cudaGetLastError() {
    const cudaError_t error = simgpu::g_last_error;
    simgpu::g_last_error = cudaSuccess;
    return error;
}

SIMGPU_API cudaError_t cudaPeekAtLastError() {
    return simgpu::g_last_error;
}

SIMGPU_API const char* cudaGetErrorName(cudaError_t error) {
    for (const auto& row : kRuntimeErrorNames) {
        if (row.code == static_cast<int>(error)) {
            return row.name;
        }
    }
    return "unrecognized error code";
}

SIMGPU_API const char* cudaGetErrorString(cudaError_t error) {
    const char* const text = peakline_sim_error_text(static_cast<int>(error));
    return text == nullptr ? cudaGetErrorName(error) : text;
}

SIMGPU_API cudaError_t cudaGetDevice(int* device) {
    SIMGPU_REQUIRE_VALUE(device != nullptr)
    if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) {
        return simgpu::finish(result);
    }
    *device = simgpu::chosen_device();
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaSetDevice(int device) {
    if (const cudaError_t error = simgpu::check_device(device); error != cudaSuccess) {
        return simgpu::finish(error);
    }
    CUcontext context = nullptr;
    const CUresult result = cuDevicePrimaryCtxRetain(&context, device);
    if (result != CUDA_SUCCESS) {
        return simgpu::finish(result);
    }
    simgpu::g_device = device;
    return simgpu::finish(cuCtxSetCurrent(context));
}
