#include "followed.h"

#include <exception>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace peakline::torch_part {

using StrongTensor = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

struct FollowedTensors {
    std::vector<WeakTensor> tensors;
};

namespace {

FollowedTensors* follow_tensors(const uint64_t* tensors, size_t count) {
    auto* followed = new FollowedTensors;
    followed->tensors.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        followed->tensors.emplace_back(
            StrongTensor::reclaim_copy(reinterpret_cast<c10::TensorImpl*>(tensors[i])));
    }
    return followed;
}

// Nested and sparse gradients have no storage of their own.
uint64_t storage_of(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.unsafeGetTensorImpl()->has_storage()) {
        return 0;
    }
    return reinterpret_cast<uint64_t>(tensor.unsafeGetTensorImpl()->unsafe_storage().data());
}

// A weak reference keeps the memory of the object and, unlike locking it, costs nothing: that would
// ask Python about each of them.
bool gradient_storages(const FollowedTensors* followed, uint64_t* addresses) {
    bool all_live = true;
    for (const WeakTensor& tensor : followed->tensors) {
        const bool is_live = tensor.use_count() != 0;
        all_live = all_live && is_live;
        *addresses++ =
            is_live ? storage_of(
                          static_cast<const c10::TensorImpl*>(tensor._unsafe_get_target())->grad())
                    : 0;
    }
    return all_live;
}

void forget_tensors(FollowedTensors* followed) {
    delete followed;
}

}  // namespace

void offer_followed_tensors(Part* part) {
    part->follow_tensors = follow_tensors;
    part->gradient_storages = gradient_storages;
    part->forget_tensors = forget_tensors;
}

}  // namespace peakline::torch_part
