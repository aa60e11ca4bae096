// Note [Checks]
// A program that checks its values ends with an error where a check fails, and a real run would
// pass. So these are true unless exact contents say otherwise (Note [Values]):
//
//   isfinite        for each element
//   all             if each of its elements follows from such a check
//   _is_all_true    the last operator of each check of torch.distributions
//
// The results are derived: a program that reads them is reported as for other such values.
#include "checks.h"

#include "device_tensors.h"
#include "device_values.h"

namespace peakline::simulated {
namespace {

bool is_flags(const at::Tensor& tensor) {
    return is_device_tensor(tensor) && tensor.scalar_type() == at::kBool && tensor.numel() != 0;
}

}  // namespace

bool is_check(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
    if (!info.may_check || inputs.empty() || !inputs[0].isTensor() ||
        !is_device_tensor(inputs[0].toTensor()) || !runs_now()) {
        return false;
    }
    const at::Tensor& tensor = inputs[0].toTensor();
    return info.name != "aten::all" || (is_flags(tensor) && (origin_of(tensor) & kTrueValues) != 0);
}

void pass_check(const std::vector<c10::IValue>& outputs) {
    for (const c10::IValue& output : outputs) {
        if (!output.isTensor() || !is_flags(output.toTensor())) {
            continue;
        }
        const at::Tensor& flags = output.toTensor();
        if (!has_exact_values(flags)) {
            device_values()->set_true(flags.data_ptr(), span_bytes(flags));
        }
    }
}

}  // namespace peakline::simulated
