#include "gradients.h"

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

namespace peakline::torch_part {
namespace {

// Nested and sparse gradients have no storage of their own.
uint64_t storage_of(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.unsafeGetTensorImpl()->has_storage()) {
        return 0;
    }
    return reinterpret_cast<uint64_t>(tensor.unsafeGetTensorImpl()->unsafe_storage().data());
}

void gradient_storages(const uint64_t* tensors, size_t count, uint64_t* addresses) {
    for (size_t i = 0; i < count; ++i) {
        addresses[i] = storage_of(reinterpret_cast<const c10::TensorImpl*>(tensors[i])->grad());
    }
}

}  // namespace

void offer_gradients(Part* part) {
    part->gradient_storages = gradient_storages;
}

}  // namespace peakline::torch_part
