// What must be known of a torch operator, looked up once for each overload.
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
    // Has a kernel of its own: what it writes is new. Others are made of such.
    bool is_leaf = false;
    // Made of other operators only: a TorchDispatchMode sees those instead.
    bool is_composite = false;
    bool copies = false;         // its reads are of tensors: copy_, item()
    bool may_compute = false;    // its result on the host is its result on a device
    bool finds_size = false;     // reads from the device how much it found
    bool awaits_others = false;  // of 64-bit integers: programs learn sizes from other ranks by it
    bool reads_result = false;   // that, or another result: it must be known before it runs
    // By argument.
    std::vector<bool> writes;
    std::vector<bool> only_writes;  // whatever it held before
    mutable int failure_count = 0;
};

const OperatorInfo& operator_info(const at::RecordFunction& function);

}  // namespace peakline::simulated
