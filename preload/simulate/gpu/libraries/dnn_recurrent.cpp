// cuDNN recurrent layers: the offset of each weight, and the sizes of buffers that PyTorch
// allocates. Matrices of all layers come first, then all biases, as observed in real cuDNN.

#include <cstdint>

#include <cudnn.h>

#include "libraries/dnn_descriptors.h"
#include "model/base/support.h"

namespace {

struct RecurrentLayers {
    unsigned char library_part[64];  // belongs to peakline_sim_new_handle
    cudnnRNNMode_t mode;
    cudnnRNNBiasMode_t bias_mode;
    cudnnDataType_t type;
    int direction_count;
    int input_size;
    int hidden_size;
    int projected_size;
    int layer_count;
};

struct SequenceData {
    unsigned char library_part[64];  // belongs to peakline_sim_new_handle
    int sequence_length;
    int batch_size;
};

RecurrentLayers* to_layers(cudnnRNNDescriptor_t descriptor) {
    return reinterpret_cast<RecurrentLayers*>(descriptor);
}

int gate_count(const RecurrentLayers& layers) {
    switch (layers.mode) {
        case CUDNN_LSTM:
            return 4;
        case CUDNN_GRU:
            return 3;
        default:
            return 1;
    }
}

size_t element_bytes(cudnnDataType_t type) {
    return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

bool has_projection(const RecurrentLayers& layers) {
    return layers.mode == CUDNN_LSTM && layers.projected_size < layers.hidden_size;
}

// A pseudo layer is one direction of one layer.
int pseudo_layer_count(const RecurrentLayers& layers) {
    return layers.layer_count * layers.direction_count;
}

int input_columns(const RecurrentLayers& layers, int pseudo_layer) {
    return pseudo_layer < layers.direction_count ? layers.input_size
                                                 : layers.projected_size * layers.direction_count;
}

// Elements of the matrices of one pseudo layer.
size_t matrix_elements(const RecurrentLayers& layers, int pseudo_layer) {
    const auto gates = static_cast<size_t>(gate_count(layers));
    const auto hidden = static_cast<size_t>(layers.hidden_size);
    const auto projected = static_cast<size_t>(layers.projected_size);
    const auto columns = static_cast<size_t>(input_columns(layers, pseudo_layer));
    return gates * hidden * (columns + projected) +
           (has_projection(layers) ? hidden * projected : 0);
}

int bias_sets(const RecurrentLayers& layers) {
    switch (layers.bias_mode) {
        case CUDNN_RNN_NO_BIAS:
            return 0;
        case CUDNN_RNN_DOUBLE_BIAS:
            return 2;
        default:
            return 1;
    }
}

size_t bias_elements(const RecurrentLayers& layers) {
    return static_cast<size_t>(bias_sets(layers)) * static_cast<size_t>(gate_count(layers)) *
           static_cast<size_t>(layers.hidden_size);
}

size_t all_matrix_elements(const RecurrentLayers& layers, int end_pseudo_layer) {
    size_t elements = 0;
    for (int index = 0; index < end_pseudo_layer; ++index) {
        elements += matrix_elements(layers, index);
    }
    return elements;
}

struct MatrixLocation {
    size_t element_offset;
    int rows;
    int columns;
};

// Linear layers 0..gates-1 multiply the input, the next as many the state; the last one projects.
MatrixLocation matrix_location(const RecurrentLayers& layers, int pseudo_layer, int linear_layer) {
    const int gates = gate_count(layers);
    const int columns = input_columns(layers, pseudo_layer);
    const auto hidden = static_cast<size_t>(layers.hidden_size);
    size_t offset = all_matrix_elements(layers, pseudo_layer);
    if (linear_layer < gates) {
        offset += static_cast<size_t>(linear_layer) * hidden * static_cast<size_t>(columns);
        return {offset, layers.hidden_size, columns};
    }
    offset += static_cast<size_t>(gates) * hidden * static_cast<size_t>(columns);
    const auto projected = static_cast<size_t>(layers.projected_size);
    offset += static_cast<size_t>(linear_layer - gates) * hidden * projected;
    if (linear_layer < 2 * gates) {
        return {offset, layers.hidden_size, layers.projected_size};
    }
    return {offset, layers.projected_size, layers.hidden_size};
}

MatrixLocation bias_location(const RecurrentLayers& layers, int pseudo_layer, int linear_layer) {
    const size_t offset =
        all_matrix_elements(layers, pseudo_layer_count(layers)) +
        static_cast<size_t>(pseudo_layer) * bias_elements(layers) +
        static_cast<size_t>(linear_layer) * static_cast<size_t>(layers.hidden_size);
    return {offset, layers.hidden_size, 1};
}

// A program may request only the matrix, or only the bias.
void give_weight(const RecurrentLayers& layers,
                 uintptr_t start,
                 const MatrixLocation& location,
                 cudnnTensorDescriptor_t descriptor,
                 void** weight) {
    if (descriptor == nullptr || weight == nullptr) {
        return;
    }
    *weight = reinterpret_cast<void*>(start + location.element_offset * element_bytes(layers.type));
    const int sizes[3] = {1, location.rows, location.columns};
    simgpu::set_shape(
        reinterpret_cast<simgpu::TensorShape*>(descriptor), layers.type, 3, sizes, nullptr);
}

}  // namespace

SIMGPU_API cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* descriptor) {
    *descriptor =
        static_cast<cudnnRNNDescriptor_t>(peakline_sim_new_handle(sizeof(RecurrentLayers)));
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t descriptor,
                                                  cudnnRNNAlgo_t,
                                                  cudnnRNNMode_t mode,
                                                  cudnnRNNBiasMode_t bias_mode,
                                                  cudnnDirectionMode_t direction,
                                                  cudnnRNNInputMode_t,
                                                  cudnnDataType_t type,
                                                  cudnnDataType_t,
                                                  cudnnMathType_t,
                                                  int32_t input_size,
                                                  int32_t hidden_size,
                                                  int32_t projected_size,
                                                  int32_t layer_count,
                                                  cudnnDropoutDescriptor_t,
                                                  uint32_t) {
    RecurrentLayers* const layers = to_layers(descriptor);
    layers->mode = mode;
    layers->bias_mode = bias_mode;
    layers->type = type;
    layers->direction_count = direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
    layers->input_size = input_size;
    layers->hidden_size = hidden_size;
    layers->projected_size = projected_size;
    layers->layer_count = layer_count;
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t,
                                                    cudnnRNNDescriptor_t descriptor,
                                                    size_t* bytes) {
    const RecurrentLayers& layers = *to_layers(descriptor);
    const int count = pseudo_layer_count(layers);
    const size_t biases = static_cast<size_t>(count) * bias_elements(layers);
    *bytes = (all_matrix_elements(layers, count) + biases) * element_bytes(layers.type);
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t,
                                                 cudnnRNNDescriptor_t descriptor,
                                                 int32_t pseudo_layer,
                                                 size_t,
                                                 const void* weights,
                                                 int32_t linear_layer,
                                                 cudnnTensorDescriptor_t matrix_descriptor,
                                                 void** matrix,
                                                 cudnnTensorDescriptor_t bias_descriptor,
                                                 void** bias) {
    const RecurrentLayers& layers = *to_layers(descriptor);
    const auto start = reinterpret_cast<uintptr_t>(weights);
    const MatrixLocation location = matrix_location(layers, pseudo_layer, linear_layer);
    give_weight(layers, start, location, matrix_descriptor, matrix);
    const bool has_bias = linear_layer < bias_sets(layers) * gate_count(layers);
    if (has_bias) {
        give_weight(layers,
                    start,
                    bias_location(layers, pseudo_layer, linear_layer),
                    bias_descriptor,
                    bias);
    } else if (bias != nullptr) {
        *bias = nullptr;
    }
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* descriptor) {
    *descriptor =
        static_cast<cudnnRNNDataDescriptor_t>(peakline_sim_new_handle(sizeof(SequenceData)));
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor,
                                                   cudnnDataType_t,
                                                   cudnnRNNDataLayout_t,
                                                   int sequence_length,
                                                   int batch_size,
                                                   int,
                                                   const int*,
                                                   void*) {
    auto* const data = reinterpret_cast<SequenceData*>(descriptor);
    data->sequence_length = sequence_length;
    data->batch_size = batch_size;
    return CUDNN_STATUS_SUCCESS;
}

// The real sizes are undocumented. The reserve space must at least keep the gates and the state of
// every step for the backward pass, so that size is returned. The workspace is zero.
SIMGPU_API cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t,
                                                   cudnnRNNDescriptor_t descriptor,
                                                   cudnnForwardMode_t mode,
                                                   cudnnRNNDataDescriptor_t data_descriptor,
                                                   size_t* workspace_bytes,
                                                   size_t* reserve_bytes) {
    const RecurrentLayers& layers = *to_layers(descriptor);
    const auto& data = *reinterpret_cast<SequenceData*>(data_descriptor);
    if (workspace_bytes != nullptr) {
        *workspace_bytes = 0;
    }
    if (reserve_bytes != nullptr) {
        const size_t steps =
            static_cast<size_t>(data.sequence_length) * static_cast<size_t>(data.batch_size);
        const size_t kept = static_cast<size_t>(gate_count(layers) + 1) *
                            static_cast<size_t>(layers.hidden_size) *
                            static_cast<size_t>(pseudo_layer_count(layers));
        *reserve_bytes =
            mode == CUDNN_FWD_MODE_TRAINING ? steps * kept * element_bytes(layers.type) : 0;
    }
    return CUDNN_STATUS_SUCCESS;
}
