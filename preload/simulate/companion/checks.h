// Checks that programs make of values: are they finite, does a parameter of a distribution satisfy
// its constraint. Values that do not exist pass them. Note [Checks]
#pragma once

#include <vector>

#include <ATen/core/ivalue.h>

#include "operator_info.h"

namespace peakline::simulated {

// Whether the operator that begins checks values of the device.
bool is_check(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs);

// Makes "true" the contents of the results of a check, unless they are exact.
void pass_check(const std::vector<c10::IValue>& outputs);

}  // namespace peakline::simulated
