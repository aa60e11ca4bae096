// Shapes in cuDNN descriptors, shared by the tensor calls and the RNN calls.
#pragma once

#include <cudnn.h>

namespace simgpu {

struct TensorShape {
    unsigned char library_part[64];  // belongs to peakline_sim_new_handle
    cudnnDataType_t type;
    cudnnTensorFormat_t format;  // filters
    int dimension_count;
    int sizes[CUDNN_DIM_MAX];
    int strides[CUDNN_DIM_MAX];
};

// Without strides the tensor is packed.
void set_shape(TensorShape* shape,
               cudnnDataType_t type,
               int dimension_count,
               const int* sizes,
               const int* strides);

}  // namespace simgpu
