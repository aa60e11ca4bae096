// Note [Distinct choices]
// topk returns each index once, and zeros would not: a search with beams that puts its candidates
// into a set would find one. So the indices of unknown scores are 0 to k-1, a result of equal
// scores. The host computes it for few scores (Note [Values]); here are those with more than an
// expert's token has (Note [Routing]), the words of a vocabulary. The indices are derived: a
// program that reads them is reported as for other such values.
#include "distinct_choices.h"

#include <cstdint>

#include "device_tensors.h"
#include "device_values.h"
#include "host_arguments.h"
#include "routing.h"

namespace peakline::simulated {

bool chooses_several(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
    return info.chooses && unknown_scores(info, inputs) > kMaxExperts;
}

void choose_distinct(const std::vector<c10::IValue>& outputs) {
    if (outputs.size() != 2 || !outputs[1].isTensor()) {
        return;
    }
    const at::Tensor& indices = outputs[1].toTensor();
    if (!is_device_tensor(indices) || indices.scalar_type() != at::kLong ||
        !indices.is_contiguous() || indices.numel() == 0 || indices.numel() > kMaxElements) {
        return;
    }
    const size_t bytes = span_bytes(indices);
    constexpr int kUnknown = 0;
    if (device_values()->read(indices.data_ptr(), bytes, nullptr) != kUnknown) {
        return;
    }
    const int64_t each = indices.dim() > 0 ? indices.size(-1) : 1;
    std::vector<int64_t> chosen(static_cast<size_t>(indices.numel()));
    for (size_t i = 0; i < chosen.size(); ++i) {
        chosen[i] = static_cast<int64_t>(i) % each;
    }
    device_values()->write(indices.data_ptr(), bytes, chosen.data(), kDerivedValues);
}

}  // namespace peakline::simulated
