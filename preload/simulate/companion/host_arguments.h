// The arguments of an operator for the host: which tensors it may compute with, and host tensors
// with their contents instead of those on the device. See Note [Values] in small_operators.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "operator_info.h"
#include "small_operators.h"

namespace peakline::simulated {

inline constexpr int64_t kMaxElements = 32768;  // cheap enough for one thread

bool is_integral(const at::Tensor& tensor);

// Whether the host computes with this tensor of the device, although it is not small, if its
// contents are exact. Bytes are left out: they are pixels and quantised weights.
bool is_large_integers(const at::Tensor& tensor);

// Whether the host may compute with a larger tensor, too, if an input of the operator follows from
// the experts that tokens choose (Note [Routing]).
bool may_be_routed(const at::Tensor& tensor);

// The device tensors among the inputs of an operator, taken together.
struct Inputs {
    bool are_computable = true;
    bool are_small_or_integers = true;  // large ones exact, or only written
    bool are_zero = true;
    bool has_tensors = false;
    bool is_chosen = false;

    void add(const at::Tensor& tensor, bool is_only_written);
    // Large inputs are computed with if all are exact integers, if a choice is among them, or if
    // all are zeros: programs scatter a choice into zeros.
    bool may_compute() const {
        return are_computable && (are_small_or_integers || is_chosen || are_zero);
    }
};

// Replaces device tensors in an argument by host tensors with their contents.
class HostArguments {
public:
    // takes_large: with large tensors, too.
    HostArguments(const OperatorInfo& info, bool takes_large, OperatorCall* call)
        : info_(info), takes_large_(takes_large), call_(call) {}

    bool may_compute = true;
    int64_t element_count = 0;

    c10::IValue take(const c10::IValue& value, size_t index);

private:
    struct Access {
        bool writes;
        bool only_writes;
    };

    c10::IValue take_list(const c10::IValue& value, Access access);
    c10::IValue take_tensor(const at::Tensor& tensor, Access access);
    int read(const at::Tensor& tensor, Snapshot* snapshot) const;

    const OperatorInfo& info_;
    bool takes_large_;
    OperatorCall* call_;
};

}  // namespace peakline::simulated
