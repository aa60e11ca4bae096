// Reports shape and dtype of operator results to the recorder. Covers results that have their own
// block, of the outermost operator that is not composed of others (as seen by a TorchDispatchMode).
#pragma once

#include <vector>

#include <ATen/core/ivalue.h>

namespace peakline::simulated {

struct OperatorInfo;
struct RunningOperators;

// For the operator just pushed.
void begin_results(const OperatorInfo& info, RunningOperators* running);
// For the operator just popped.
void end_results(const std::vector<c10::IValue>& results, RunningOperators* running);

}  // namespace peakline::simulated
