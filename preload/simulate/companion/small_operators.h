// Computes operators on small tensors on the host, with torch's own kernels. So counters, flags,
// lengths and masks stay correct although kernels compute nothing. See Note [Values] in
// small_operators.cpp.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>

#include "operator_info.h"
#include "running_operators.h"

namespace peakline::simulated {

// A small tensor of the device, as it was when the operator began.
struct Snapshot {
    void* device = nullptr;
    size_t bytes = 0;
    at::Tensor on_host;
    bool is_known = false;
    bool is_exact = false;
    bool is_written = false;
};

struct OperatorCall : at::ObserverContext {
    std::vector<Snapshot> snapshots;
    torch::jit::Stack arguments;  // with host tensors; empty: do not compute
    torch::jit::Stack results;
    bool is_exact = true;
    bool may_overwrite = false;  // is_exact fails only for old contents, which may all be replaced
    bool is_computed = false;
    bool is_chosen = false;  // an input follows from the experts that tokens choose
    bool is_zero = false;    // all inputs are zeros of a fill
    // Other ranks have not yet delivered an input. The contents of its outputs are forgotten before
    // it runs; a copy on the device also copies the pending delivery.
    bool is_left_alone = false;
};

// Call before the operator runs. Returns nullptr if end_operator() is not needed.
std::unique_ptr<OperatorCall> begin_operator(const OperatorInfo& info,
                                             c10::ArrayRef<const c10::IValue> inputs,
                                             RunningOperator* running);
// Call after the operator: updates the known contents of the device.
void end_operator(const OperatorInfo& info,
                  OperatorCall* call,
                  const std::vector<c10::IValue>& outputs);

}  // namespace peakline::simulated
