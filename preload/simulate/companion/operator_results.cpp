#include "operator_results.h"

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include "operator_info.h"
#include "preload/peakline_api.h"
#include "recorder_functions.h"
#include "running_operators.h"

namespace peakline::simulated {
namespace {

struct RecorderCalls {
    decltype(&peakline_block_count) block_count;
    decltype(&peakline_report_made_tensors) report;
};

const RecorderCalls& recorder() {
    static const RecorderCalls calls{
        recorder_function<decltype(peakline_block_count)>("peakline_block_count"),
        recorder_function<decltype(peakline_report_made_tensors)>("peakline_report_made_tensors")};
    return calls;
}

void add(const at::Tensor& tensor, std::vector<uint64_t>* tensors) {
    if (tensor.defined()) {
        tensors->push_back(reinterpret_cast<uint64_t>(tensor.unsafeGetTensorImpl()));
    }
}

}  // namespace

void begin_results(const OperatorInfo& info, RunningOperators* running) {
    RunningOperator* const top = running->top();
    if (top != nullptr && !running->results_are_reported && info.handle.has_value() &&
        !info.is_composite && recorder().block_count != nullptr) {
        running->results_are_reported = top->reports_results = true;
        top->first_block = recorder().block_count();
    }
}

void end_results(const std::vector<c10::IValue>& results, RunningOperators* running) {
    if (running->depth >= kMaxRunning || !running->items[running->depth].reports_results) {
        return;
    }
    RunningOperator& ended = running->items[running->depth];
    running->results_are_reported = ended.reports_results = false;
    std::vector<uint64_t> tensors;
    for (const c10::IValue& result : results) {
        if (result.isTensor()) {
            add(result.toTensor(), &tensors);
        } else if (result.isTensorList()) {
            for (const at::Tensor& tensor : result.toTensorVector()) {
                add(tensor, &tensors);
            }
        }
    }
    if (!tensors.empty()) {
        recorder().report(ended.first_block, tensors.data(), tensors.size());
    }
}

}  // namespace peakline::simulated
