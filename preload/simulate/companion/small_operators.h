// Computes operators on small tensors on the host, with torch's own kernels, so that counters,
// flags, lengths and masks stay true on a device whose kernels compute nothing. See Note [Values]
// in small_operators.cpp.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>

#include "operator_info.h"
#include "running_operators.h"

namespace peakline::simulated {

// A small tensor of the device as it was when the operator began.
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
    torch::jit::Stack arguments;  // with host tensors; empty: not to be computed
    torch::jit::Stack results;
    bool is_exact = true;
    bool is_computed = false;
    // Other ranks are still to deliver an input: what is written is forgotten before the operator
    // runs, and what it copies on the device brings along what is still to come.
    bool is_left_alone = false;
};

// Call before the operator runs. nullptr: nothing to remember.
std::unique_ptr<OperatorCall> begin_operator(const OperatorInfo& info,
                                             c10::ArrayRef<const c10::IValue> inputs,
                                             RunningOperator* running);
// Call after it: brings the contents of the device up to date.
void end_operator(const OperatorInfo& info,
                  OperatorCall* call,
                  const std::vector<c10::IValue>& outputs);

}  // namespace peakline::simulated
