// Shape and dtype of what operators make, for the recorder: of the outermost operator that is not
// made of others, as a TorchDispatchMode sees it, the results that lie in a block of its own.
#pragma once

#include <vector>

#include <ATen/core/ivalue.h>

namespace peakline::simulated {

struct OperatorInfo;
struct RunningOperators;

// Of the operator that has just been put on top.
void begin_results(const OperatorInfo& info, RunningOperators* running);
// Of the operator that has just been taken from the top.
void end_results(const std::vector<c10::IValue>& results, RunningOperators* running);

}  // namespace peakline::simulated
