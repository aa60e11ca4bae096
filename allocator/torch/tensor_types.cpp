#include "tensor_types.h"

#include <array>
#include <exception>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>

namespace peakline::torch_part {
namespace {

constexpr auto kScalarTypeCount = static_cast<size_t>(c10::ScalarType::NumOptions);
using Names = std::array<std::string, kScalarTypeCount>;

Names make_names() {
    Names names;
    for (size_t i = 0; i < names.size(); ++i) {
        try {
            names[i] = std::string(c10::getDtypeNames(static_cast<c10::ScalarType>(i)).first);
        } catch (const std::exception&) {
            // A type that no tensor has: it stays unknown.
        }
    }
    return names;
}

// "" if torch has none.
const std::string& name_of(c10::ScalarType type) {
    static const Names* const names = new Names(make_names());
    static const std::string* const none = new std::string;
    const auto number = static_cast<size_t>(type);
    return number < names->size() ? (*names)[number] : *none;
}

// Tensors that compute their sizes themselves: a nested tensor, a wrapper of functorch, a subclass
// in Python. Their members may differ from these sizes, and calling them may run code of the
// program.
struct CustomSizes : c10::TensorImpl {
    static bool of(const c10::TensorImpl& tensor) {
        return (tensor.*(&CustomSizes::matches_policy))(SizesStridesPolicy::CustomSizes);
    }
};

TensorType type_of(const c10::TensorImpl& tensor) {
    TensorType type;
    if (!tensor.has_storage() || !tensor.dtype().isScalarType() ||
        tensor.has_symbolic_sizes_strides() || CustomSizes::of(tensor)) {
        return type;
    }
    const std::string& name = name_of(tensor.dtype().toScalarType());
    if (!name.empty()) {
        const c10::IntArrayRef sizes = tensor.sizes_default();
        type = {reinterpret_cast<uint64_t>(tensor.unsafe_storage().data()),
                name.c_str(),
                sizes.data(),
                sizes.size()};
    }
    return type;
}

TensorType tensor_type(uint64_t tensor) {
    return type_of(*reinterpret_cast<const c10::TensorImpl*>(tensor));
}

TensorType gradient_type(uint64_t tensor) {
    const at::Tensor& gradient = reinterpret_cast<const c10::TensorImpl*>(tensor)->grad();
    return gradient.defined() ? type_of(*gradient.unsafeGetTensorImpl()) : TensorType{};
}

}  // namespace

void offer_tensor_types(Part* part) {
    part->tensor_type = tensor_type;
    part->gradient_type = gradient_type;
}

}  // namespace peakline::torch_part
