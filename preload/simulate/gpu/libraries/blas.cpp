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

// A setting without effect: the handle keeps what the program sets and gets.
#define SIMGPU_SETTING(Setter, Getter, Type, member)                       \
    SIMGPU_API cublasStatus_t Setter(cublasHandle_t handle, Type value) {  \
        SIMGPU_REQUIRE_HANDLE(handle)                                      \
        settings(handle)->member = value;                                  \
        return CUBLAS_STATUS_SUCCESS;                                      \
    }                                                                      \
    SIMGPU_API cublasStatus_t Getter(cublasHandle_t handle, Type* value) { \
        SIMGPU_REQUIRE_HANDLE(handle)                                      \
        SIMGPU_REQUIRE_OUTPUT(value)                                       \
        *value = settings(handle)->member;                                 \
        return CUBLAS_STATUS_SUCCESS;                                      \
    }
SIMGPU_SETTING(cublasSetMathMode, cublasGetMathMode, cublasMath_t, math_mode)
SIMGPU_SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, cublasPointerMode_t, pointer_mode)
SIMGPU_SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, cublasAtomicsMode_t, atomics_mode)
SIMGPU_SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, int, multiprocessor_target)

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
