// cuDNN: versions, tensor and filter descriptors (programs read their shapes back), and the choice
// of convolution algorithms: one, without workspace. The compute functions are generated stubs.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <cudnn.h>

#include "libraries/dnn_descriptors.h"
#include "libraries/own_memory.h"
#include "model/base/support.h"

namespace {

using simgpu::TensorShape;

struct DnnHandle {
    unsigned char library_part[64];  // belongs to peakline_sim_new_handle
    void* own_memory;
};

template <typename Handle>
TensorShape* to_shape(Handle descriptor) {
    return reinterpret_cast<TensorShape*>(descriptor);
}

template <typename Handle>
cudnnStatus_t create(Handle* descriptor) {
    *descriptor = static_cast<Handle>(peakline_sim_new_handle(sizeof(TensorShape)));
    return CUDNN_STATUS_SUCCESS;
}

template <typename Handle>
cudnnStatus_t destroy(Handle descriptor) {
    peakline_sim_free_handle(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

// The single algorithm offered: it exists for every convolution and needs no workspace.
template <typename Performance>
cudnnStatus_t offer_algorithm(int wanted_count, int* found_count, Performance* results) {
    if (wanted_count < 1 || found_count == nullptr || results == nullptr) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    std::memset(results, 0, sizeof *results);
    results->algo = static_cast<decltype(results->algo)>(1);
    results->status = CUDNN_STATUS_SUCCESS;
    results->time = 1.0f;
    results->determinism = CUDNN_DETERMINISTIC;
    results->mathType = CUDNN_DEFAULT_MATH;
    *found_count = 1;
    return CUDNN_STATUS_SUCCESS;
}

}  // namespace

namespace simgpu {

void set_shape(TensorShape* shape,
               cudnnDataType_t type,
               int dimension_count,
               const int* sizes,
               const int* strides) {
    shape->type = type;
    shape->dimension_count = std::min(dimension_count, CUDNN_DIM_MAX);
    int packed_stride = 1;
    for (int axis = shape->dimension_count - 1; axis >= 0; --axis) {
        shape->sizes[axis] = sizes[axis];
        shape->strides[axis] = strides == nullptr ? packed_stride : strides[axis];
        packed_stride *= sizes[axis];
    }
}

}  // namespace simgpu

SIMGPU_API size_t cudnnGetVersion() {
    return CUDNN_VERSION;
}

SIMGPU_API size_t cudnnGetCudartVersion() {
    return CUDART_VERSION;
}

SIMGPU_API size_t cudnnGetMaxDeviceVersion() {
    return 1210;
}

SIMGPU_API const char* cudnnGetErrorString(cudnnStatus_t status) {
    switch (status) {
        case CUDNN_STATUS_SUCCESS:
            return "CUDNN_STATUS_SUCCESS";
        case CUDNN_STATUS_BAD_PARAM:
            return "CUDNN_STATUS_BAD_PARAM";
        case CUDNN_STATUS_NOT_SUPPORTED:
            return "CUDNN_STATUS_NOT_SUPPORTED";
        default:
            return "CUDNN_STATUS_INTERNAL_ERROR";
    }
}

SIMGPU_API void cudnnGetLastErrorString(char* text, size_t length) {
    if (text != nullptr && length > 0) {
        text[0] = '\0';
    }
}

SIMGPU_API cudnnStatus_t cudnnGetProperty(libraryPropertyType property, int* value) {
    switch (property) {
        case MAJOR_VERSION:
            *value = CUDNN_MAJOR;
            return CUDNN_STATUS_SUCCESS;
        case MINOR_VERSION:
            *value = CUDNN_MINOR;
            return CUDNN_STATUS_SUCCESS;
        case PATCH_LEVEL:
            *value = CUDNN_PATCHLEVEL;
            return CUDNN_STATUS_SUCCESS;
    }
    return CUDNN_STATUS_BAD_PARAM;
}

SIMGPU_API cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
    if (handle == nullptr) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    auto* const made = static_cast<DnnHandle*>(peakline_sim_new_handle(sizeof(DnnHandle)));
    if (!take_own_memory(SIMGPU_CUDNN_HANDLE, &made->own_memory)) {
        peakline_sim_free_handle(made);
        return CUDNN_STATUS_ALLOC_FAILED;
    }
    *handle = reinterpret_cast<cudnnHandle_t>(made);
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    if (handle == nullptr) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    cudaFree(reinterpret_cast<DnnHandle*>(handle)->own_memory);
    peakline_sim_free_handle(handle);
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
    return create(descriptor);
}

SIMGPU_API cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
    return destroy(descriptor);
}

SIMGPU_API cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor,
                                                    cudnnDataType_t type,
                                                    int dimension_count,
                                                    const int* sizes,
                                                    const int* strides) {
    simgpu::set_shape(to_shape(descriptor), type, dimension_count, sizes, strides);
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t descriptor,
                                                    int wanted_count,
                                                    cudnnDataType_t* type,
                                                    int* dimension_count,
                                                    int* sizes,
                                                    int* strides) {
    const TensorShape* const shape = to_shape(descriptor);
    *type = shape->type;
    *dimension_count = shape->dimension_count;
    const int given_count = std::min(wanted_count, shape->dimension_count);
    std::copy_n(shape->sizes, given_count, sizes);
    std::copy_n(shape->strides, given_count, strides);
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
    return create(descriptor);
}

SIMGPU_API cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
    return destroy(descriptor);
}

SIMGPU_API cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor,
                                                    cudnnDataType_t type,
                                                    cudnnTensorFormat_t format,
                                                    int dimension_count,
                                                    const int* sizes) {
    simgpu::set_shape(to_shape(descriptor), type, dimension_count, sizes, nullptr);
    to_shape(descriptor)->format = format;
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t descriptor,
                                                    int wanted_count,
                                                    cudnnDataType_t* type,
                                                    cudnnTensorFormat_t* format,
                                                    int* dimension_count,
                                                    int* sizes) {
    const TensorShape* const shape = to_shape(descriptor);
    *type = shape->type;
    *format = shape->format;
    *dimension_count = shape->dimension_count;
    std::copy_n(shape->sizes, std::min(wanted_count, shape->dimension_count), sizes);
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t
cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t,
                                       const cudnnTensorDescriptor_t,
                                       const cudnnFilterDescriptor_t,
                                       const cudnnConvolutionDescriptor_t,
                                       const cudnnTensorDescriptor_t,
                                       const int wanted_count,
                                       int* found_count,
                                       cudnnConvolutionFwdAlgoPerf_t* results) {
    return offer_algorithm(wanted_count, found_count, results);
}

SIMGPU_API cudnnStatus_t
cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t,
                                            const cudnnFilterDescriptor_t,
                                            const cudnnTensorDescriptor_t,
                                            const cudnnConvolutionDescriptor_t,
                                            const cudnnTensorDescriptor_t,
                                            const int wanted_count,
                                            int* found_count,
                                            cudnnConvolutionBwdDataAlgoPerf_t* results) {
    return offer_algorithm(wanted_count, found_count, results);
}

SIMGPU_API cudnnStatus_t
cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t,
                                              const cudnnTensorDescriptor_t,
                                              const cudnnTensorDescriptor_t,
                                              const cudnnConvolutionDescriptor_t,
                                              const cudnnFilterDescriptor_t,
                                              const int wanted_count,
                                              int* found_count,
                                              cudnnConvolutionBwdFilterAlgoPerf_t* results) {
    return offer_algorithm(wanted_count, found_count, results);
}

SIMGPU_API cudnnStatus_t
cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t,
                                       const cudnnTensorDescriptor_t,
                                       const void*,
                                       const cudnnFilterDescriptor_t,
                                       const void*,
                                       const cudnnConvolutionDescriptor_t,
                                       const cudnnTensorDescriptor_t,
                                       void*,
                                       const int wanted_count,
                                       int* found_count,
                                       cudnnConvolutionFwdAlgoPerf_t* results,
                                       void*,
                                       size_t) {
    return offer_algorithm(wanted_count, found_count, results);
}

SIMGPU_API cudnnStatus_t
cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t,
                                            const cudnnFilterDescriptor_t,
                                            const void*,
                                            const cudnnTensorDescriptor_t,
                                            const void*,
                                            const cudnnConvolutionDescriptor_t,
                                            const cudnnTensorDescriptor_t,
                                            void*,
                                            const int wanted_count,
                                            int* found_count,
                                            cudnnConvolutionBwdDataAlgoPerf_t* results,
                                            void*,
                                            size_t) {
    return offer_algorithm(wanted_count, found_count, results);
}

SIMGPU_API cudnnStatus_t
cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t,
                                              const cudnnTensorDescriptor_t,
                                              const void*,
                                              const cudnnTensorDescriptor_t,
                                              const void*,
                                              const cudnnConvolutionDescriptor_t,
                                              const cudnnFilterDescriptor_t,
                                              void*,
                                              const int wanted_count,
                                              int* found_count,
                                              cudnnConvolutionBwdFilterAlgoPerf_t* results,
                                              void*,
                                              size_t) {
    return offer_algorithm(wanted_count, found_count, results);
}
