// cuBLASLt: descriptors store the attributes set on them, the heuristic offers one algorithm
// without workspace, and a matmul is a piece of work on its stream. Programs may also keep
// descriptors in their own memory (cublasLtMatmulDescInit), so a side map holds the attribute
// tables, by address.

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <cublasLt.h>

#include "model/base/fork_safe_mutex.h"
#include "model/base/support.h"

namespace {

using AttributeTable = std::map<int, std::vector<unsigned char>>;

simgpu::ForkSafeMutex& tables_mutex() {
    static auto* const mutex = new simgpu::ForkSafeMutex;
    return *mutex;
}

// Guarded by tables_mutex().
std::map<const void*, AttributeTable>& tables() {
    static auto* const tables = new std::map<const void*, AttributeTable>;
    return *tables;
}

template <typename Descriptor>
cublasStatus_t create(Descriptor* descriptor) {
    if (descriptor == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    *descriptor = static_cast<Descriptor>(peakline_sim_new_handle(512));
    const std::lock_guard guard(tables_mutex());
    tables()[*descriptor].clear();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy(const void* descriptor) {
    {
        const std::lock_guard guard(tables_mutex());
        tables().erase(descriptor);
    }
    peakline_sim_free_handle(const_cast<void*>(descriptor));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set(const void* descriptor, int attribute, const void* value, size_t bytes) {
    if (descriptor == nullptr || (value == nullptr && bytes != 0)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const auto* const start = static_cast<const unsigned char*>(value);
    const std::lock_guard guard(tables_mutex());
    tables()[descriptor][attribute].assign(start, start + bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get(
    const void* descriptor, int attribute, void* value, size_t bytes, size_t* written_bytes) {
    if (descriptor == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const std::lock_guard guard(tables_mutex());
    const std::vector<unsigned char>& stored = tables()[descriptor][attribute];
    if (written_bytes != nullptr) {
        *written_bytes = stored.empty() ? bytes : stored.size();
    }
    if (value != nullptr) {
        std::memset(value, 0, bytes);
        std::memcpy(value, stored.data(), stored.size() < bytes ? stored.size() : bytes);
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

SIMGPU_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    if (handle == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    *handle = static_cast<cublasLtHandle_t>(peakline_sim_new_handle(0));
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    peakline_sim_free_handle(handle);
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API size_t cublasLtGetVersion() {
    return CUBLAS_VERSION;
}

SIMGPU_API size_t cublasLtGetCudartVersion() {
    return CUDART_VERSION;
}

SIMGPU_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor,
                                                   cublasComputeType_t,
                                                   cudaDataType_t) {
    return create(descriptor);
}

SIMGPU_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
    return destroy(descriptor);
}

SIMGPU_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                                         cublasLtMatmulDescAttributes_t attribute,
                                                         const void* value,
                                                         size_t bytes) {
    return set(descriptor, attribute, value, bytes);
}

SIMGPU_API cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t descriptor,
                                                         cublasLtMatmulDescAttributes_t attribute,
                                                         void* value,
                                                         size_t bytes,
                                                         size_t* written_bytes) {
    return get(descriptor, attribute, value, bytes, written_bytes);
}

SIMGPU_API cublasStatus_t cublasLtMatrixLayoutCreate(
    cublasLtMatrixLayout_t* layout, cudaDataType, uint64_t, uint64_t, int64_t) {
    return create(layout);
}

SIMGPU_API cublasStatus_t cublasLtMatrixLayoutDestroy(const cublasLtMatrixLayout_t layout) {
    return destroy(layout);
}

SIMGPU_API cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void* value,
                                 size_t bytes) {
    return set(layout, attribute, value, bytes);
}

SIMGPU_API cublasStatus_t
cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 void* value,
                                 size_t bytes,
                                 size_t* written_bytes) {
    return get(layout, attribute, value, bytes, written_bytes);
}

SIMGPU_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    return create(preference);
}

SIMGPU_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    return destroy(preference);
}

SIMGPU_API cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t attribute,
                                     const void* value,
                                     size_t bytes) {
    return set(preference, attribute, value, bytes);
}

SIMGPU_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t,
                                                         cublasLtMatmulDesc_t,
                                                         cublasLtMatrixLayout_t,
                                                         cublasLtMatrixLayout_t,
                                                         cublasLtMatrixLayout_t,
                                                         cublasLtMatrixLayout_t,
                                                         cublasLtMatmulPreference_t,
                                                         int wanted_count,
                                                         cublasLtMatmulHeuristicResult_t* results,
                                                         int* found_count) {
    if (wanted_count < 1 || results == nullptr || found_count == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    std::memset(results, 0, sizeof *results);
    results->state = CUBLAS_STATUS_SUCCESS;
    results->wavesCount = 1.0f;
    *found_count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_API cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t,
                                                  cublasLtMatmulDesc_t,
                                                  cublasLtMatrixLayout_t,
                                                  cublasLtMatrixLayout_t,
                                                  cublasLtMatrixLayout_t,
                                                  cublasLtMatrixLayout_t,
                                                  const cublasLtMatmulAlgo_t* algorithm,
                                                  cublasLtMatmulHeuristicResult_t* result) {
    if (algorithm == nullptr || result == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    std::memset(result, 0, sizeof *result);
    result->algo = *algorithm;
    result->state = CUBLAS_STATUS_SUCCESS;
    result->wavesCount = 1.0f;
    return CUBLAS_STATUS_SUCCESS;
}
