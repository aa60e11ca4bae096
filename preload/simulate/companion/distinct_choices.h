// The highest of many unknown scores: which they are is unknown, but not that they differ.
#pragma once

#include <vector>

#include <ATen/core/ivalue.h>

#include "operator_info.h"

namespace peakline::simulated {

// Whether the operator that begins chooses several of many unknown scores.
bool chooses_several(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs);

// Makes 0, 1, 2 ... the contents of the indices that it returned, unless they are known.
void choose_distinct(const std::vector<c10::IValue>& outputs);

}  // namespace peakline::simulated
