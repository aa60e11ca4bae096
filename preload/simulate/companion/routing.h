// The experts that tokens choose in a mixture of experts, from `--assume routing=...`.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/ivalue.h>

#include "operator_info.h"

namespace peakline::simulated {

// A choice among more scores is none of experts.
inline constexpr int64_t kMaxExperts = 1024;

// The number of scores if the operator that begins chooses among unknown ones, in their last
// dimension, else 0.
int64_t unknown_scores(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs);

// Whether the user assumed a routing. Reads PEAKLINE_ASSUME once.
bool routing_is_assumed();

// The number of experts if the operator that begins lets tokens choose among experts with unknown
// scores, else 0. Always 0 without an assumed routing.
int64_t expert_count(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs);

// Makes the assumed choice the contents of the indices that the operator returned.
void choose_experts(int64_t expert_count, const std::vector<c10::IValue>& outputs);

}  // namespace peakline::simulated
