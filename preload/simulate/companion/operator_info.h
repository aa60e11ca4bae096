// Facts about a torch operator, looked up once per overload.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

namespace peakline::simulated {

struct OperatorInfo {
    std::string name;  // "aten::nonzero"
    std::optional<c10::OperatorHandle> handle;
    // Has its own kernel, so its outputs are new. Other operators are composed of such ones.
    bool is_leaf = false;
    // Composed of other operators: a TorchDispatchMode sees those instead.
    bool is_composite = false;
    bool copies = false;  // it reads tensors only to copy them: copy_, item()
    bool makes_zeros = false;
    bool may_compute = false;    // the host computes the same result as a device
    bool may_overwrite = false;  // all old contents, by the right indices
    bool finds_size = false;     // reads from the device how many elements it found
    bool awaits_others = false;  // a reduction of 64-bit integers; programs exchange sizes with it
    bool reads_result = false;   // finds_size, or needs another result before it runs
    bool orders = false;         // its result is an order, which zeros are not
    bool chooses = false;        // several of its inputs' elements (distinct_choices.h)
    bool may_check = false;      // that values are as they should be (checks.h)
    // Indexed by argument.
    std::vector<bool> writes;
    std::vector<bool> only_writes;  // overwrites without reading
    mutable int failure_count = 0;
};

const OperatorInfo& operator_info(const at::RecordFunction& function);

}  // namespace peakline::simulated
