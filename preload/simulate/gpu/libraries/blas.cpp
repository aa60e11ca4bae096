// cuBLAS: the handle and its settings. The compute functions are generated stubs.
// PyTorch sets its own workspaces with cublasSetWorkspace. The library's small allocation per
// handle is the only device memory taken here.

#include <cublas_v2.h>

#include <cuda_runtime_api.h>

#include "libraries/own_memory.h"
#include "model/base/support.h"

namespace {

struct BlasHandle {
    unsigned char library_part[64];  // belongs to peakline_sim_new_handle
    void* own_memory;
    cublasMath_t math_mode;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics_mode;
    int multiprocessor_target;
};

BlasHandle* settings(cublasHandle_t handle) {
    return reinterpret_cast<BlasHandle*>(handle);
}

}  // namespace

#define SIMGPU_REQUIRE_HANDLE(handle)         \
    if ((handle) == nullptr) {                \
        return CUBLAS_STATUS_NOT_INITIALIZED; \
    }

#define SIMGPU_REQUIRE_OUTPUT(pointer)      \
    if ((pointer) == nullptr) {             \
        return CUBLAS_STATUS_INVALID_VALUE; \
    }

SIMGPU_API cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
    SIMGPU_REQUIRE_OUTPUT(handle)
    auto* const made = static_cast<BlasHandle*>(peakline_sim_new_handle(sizeof(BlasHandle)));
    if (!take_own_memory(SIMGPU_CUBLAS_HANDLE, &made->own_memory)) {
        peakline_sim_free_handle(made);
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    *handle = reinterpret_cast<cublasHandle_t>(made);
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    SIMGPU_REQUIRE_HANDLE(handle)
    cudaFree(settings(handle)->own_memory);
    peakline_sim_free_handle(handle);
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
    SIMGPU_REQUIRE_OUTPUT(version)
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API size_t cublasGetCudartVersion() {
    return CUDART_VERSION;
}

SIMGPU_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    SIMGPU_REQUIRE_HANDLE(handle)
    settings(handle)->math_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
    SIMGPU_REQUIRE_HANDLE(handle)
    SIMGPU_REQUIRE_OUTPUT(mode)
    *mode = settings(handle)->math_mode;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
    SIMGPU_REQUIRE_HANDLE(handle)
    settings(handle)->pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle,
                                                  cublasPointerMode_t* mode) {
    SIMGPU_REQUIRE_HANDLE(handle)
    SIMGPU_REQUIRE_OUTPUT(mode)
    *mode = settings(handle)->pointer_mode;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
    SIMGPU_REQUIRE_HANDLE(handle)
    settings(handle)->atomics_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
    SIMGPU_REQUIRE_HANDLE(handle)
    SIMGPU_REQUIRE_OUTPUT(mode)
    *mode = settings(handle)->atomics_mode;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
    SIMGPU_REQUIRE_HANDLE(handle)
    settings(handle)->multiprocessor_target = count;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
    SIMGPU_REQUIRE_HANDLE(handle)
    SIMGPU_REQUIRE_OUTPUT(count)
    *count = settings(handle)->multiprocessor_target;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API const char* cublasGetStatusName(cublasStatus_t status) {
    switch (status) {
        case CUBLAS_STATUS_SUCCESS:
            return "CUBLAS_STATUS_SUCCESS";
        case CUBLAS_STATUS_NOT_SUPPORTED:
            return "CUBLAS_STATUS_NOT_SUPPORTED";
        case CUBLAS_STATUS_ALLOC_FAILED:
            return "CUBLAS_STATUS_ALLOC_FAILED";
        case CUBLAS_STATUS_INVALID_VALUE:
            return "CUBLAS_STATUS_INVALID_VALUE";
        case CUBLAS_STATUS_NOT_INITIALIZED:
            return "CUBLAS_STATUS_NOT_INITIALIZED";
        default:
            return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

SIMGPU_API const char* cublasGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? "success" : cublasGetStatusName(status);
}
