// Note [Values]
// Unknown contents of the device read as zero. An operator with only small tensors is computed on
// the host from their contents, and the result becomes the contents of its outputs. The result is
// exact if every input was, else "derived": computed from values that were taken as zero. Programs
// then see one consistent device: 0 == 0 is true there, a counter counts, a length reaches its
// limit. Nothing is computed under a graph capture, under Python dispatch modes (tracing), with
// random numbers, or for tensors above kMaxElements, with an exception: integers and flags of up to
// kMaxIntegers elements are computed if they are exact. A program that masks its tokens, or selects
// the edges of a graph, gets sizes from such ones. A derived floating-point result that is not
// finite becomes zero: 0 / 0 is expected without values. After every operator the old contents of
// its outputs are forgotten. Contents that it only read stay (its launches forget nothing).
#include "small_operators.h"

#include <algorithm>
#include <cstring>

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include "device_tensors.h"
#include "device_values.h"
#include "host_arguments.h"
#include "routing.h"

namespace peakline::simulated {
namespace {

constexpr int64_t kMaxUnknownElements = 1024;  // for operators with no known input
constexpr int kMaxFailures = 3;

class IgnoreWarnings : public c10::WarningHandler {
public:
    void process(const c10::Warning&) override {}
};

// Excludes dispatch keys as inside a kernel, so that no observer or mode sees the calls.
class InsideTorch {
    static c10::DispatchKeySet excluded() {
        return c10::autograd_dispatch_keyset | c10::autocast_dispatch_keyset |
               c10::DispatchKeySet({c10::DispatchKey::ADInplaceOrView,
                                    c10::DispatchKey::Python,
                                    c10::DispatchKey::PythonTLSSnapshot});
    }
    at::DisableRecordFunctionGuard unobserved_;
    c10::impl::ExcludeDispatchKeyGuard below_autograd_{excluded()};
    IgnoreWarnings ignore_;
    c10::WarningUtils::WarningHandlerGuard quiet_{&ignore_};
};

// The host counts only floating-point numbers into a histogram; a device counts integers, too.
void call_on_host(const OperatorInfo& info, torch::jit::Stack* stack) {
    const bool counts_integers =
        info.name == "aten::histc" &&
        c10::isIntegralType(stack->front().toTensor().scalar_type(), /*includeBool=*/false);
    if (!counts_integers) {
        info.handle->callBoxed(*stack);
        return;
    }
    const at::ScalarType type = stack->front().toTensor().scalar_type();
    stack->front() = stack->front().toTensor().to(at::kDouble);
    info.handle->callBoxed(*stack);
    stack->front() = stack->front().toTensor().to(type);
}

// The same arguments; those that the operator writes have other old contents.
torch::jit::Stack with_other_contents(const OperatorInfo& info, const torch::jit::Stack& stack) {
    torch::jit::Stack other = stack;
    for (size_t i = 0; i < other.size(); ++i) {
        if (info.writes[i] && other[i].isTensor()) {
            const at::Tensor& old = other[i].toTensor();
            other[i] = old.scalar_type() == at::kBool ? old.logical_not() : old.add(1);
        }
    }
    return other;
}

void compute(const OperatorInfo& info, OperatorCall* call) {
    const InsideTorch inside;
    try {
        torch::jit::Stack other;
        if (call->may_overwrite) {
            other = with_other_contents(info, call->arguments);
            call_on_host(info, &other);
        }
        call->results = std::move(call->arguments);
        call_on_host(info, &call->results);
        call->is_computed = true;
        call->is_exact = call->is_exact || (call->may_overwrite &&
                                            call->results[0].toTensor().equal(other[0].toTensor()));
    } catch (const std::exception&) {
        // The host has no such kernel, or it refuses the values: outputs read as zero.
        ++info.failure_count;
    }
    call->arguments.clear();
}

// The number that the operator reads from the device: of elements found, or a bool result.
int64_t read_result(const OperatorInfo& info, const torch::jit::Stack& results) {
    if (!results.empty() && results.front().isBool()) {
        return results.front().toBool() ? 1 : 0;
    }
    const bool has_tensor = !results.empty() && results.front().isTensor();
    if (!has_tensor || results.front().toTensor().dim() == 0) {
        return kUnknownResult;
    }
    // bincount reads the largest number, one less than the bins.
    const int64_t size = results.front().toTensor().size(0);
    return info.name == "aten::bincount" ? size - 1 : size;
}

int kind_of_results(const OperatorCall& call) {
    return (call.is_exact ? kExactValues : kDerivedValues) |
           (call.is_chosen ? kChosenValues : kDerivedValues);
}

void write_values(const at::Tensor& device, const at::Tensor& host, const OperatorCall& call) {
    const InsideTorch inside;
    at::Tensor values = host;
    if (!call.is_exact && values.is_floating_point()) {
        values = values.nan_to_num(0, 0, 0);
    }
    const size_t bytes = span_bytes(device);
    if (values.strides() != device.strides() || values.scalar_type() != device.scalar_type()) {
        at::Tensor same = host_like(device);
        std::memset(same.data_ptr(), 0, bytes);
        device_values()->read(device.data_ptr(), bytes, same.data_ptr());
        same.copy_(values);
        values = same;
    }
    device_values()->write(device.data_ptr(), bytes, values.data_ptr(), kind_of_results(call));
}

// A large result is computed if it is exact, and integers, follows from a choice, or may be
// scattered into or counted with: zeros of another type, and consecutive numbers.
bool may_hold_result(const at::Tensor& output, const OperatorCall& call) {
    return output.numel() <= kMaxElements || (call.is_exact && is_large_integers(output)) ||
           (call.is_exact && may_be_routed(output) &&
            (call.is_chosen || call.is_zero || (call.snapshots.empty() && is_integral(output))));
}

void update_output(const OperatorCall* call, const at::Tensor& output, const c10::IValue* result) {
    if (!is_device_tensor(output) || output.numel() == 0) {
        return;
    }
    const bool matches = call != nullptr && call->is_computed && result != nullptr &&
                         result->isTensor() && result->toTensor().device().is_cpu() &&
                         result->toTensor().sizes() == output.sizes() &&
                         !result->toTensor().is_complex() && may_hold_result(output, *call);
    if (matches) {
        write_values(output, result->toTensor(), *call);
    } else {
        device_values()->forget(output.data_ptr(), span_bytes(output));
    }
}

void update_outputs(const OperatorCall* call,
                    const c10::IValue& output,
                    const c10::IValue* result) {
    if (output.isTensor()) {
        update_output(call, output.toTensor(), result);
    } else if (output.isTensorList()) {
        const auto outputs = output.toListRef();
        const bool has_results = result != nullptr && result->isTensorList() &&
                                 result->toListRef().size() == outputs.size();
        for (size_t i = 0; i < outputs.size(); ++i) {
            update_output(
                call, outputs[i].toTensor(), has_results ? &result->toListRef()[i] : nullptr);
        }
    }
}

// Zeros of any size: a choice may be scattered into them.
void note_zeros(const std::vector<c10::IValue>& outputs) {
    for (const c10::IValue& output : outputs) {
        if (output.isTensor() && is_device_tensor(output.toTensor()) &&
            output.toTensor().is_non_overlapping_and_dense()) {
            device_values()->zero(output.toTensor().data_ptr(), span_bytes(output.toTensor()));
        }
    }
}

// Updates or forgets inputs that were written but not returned.
void update_inputs(const OperatorCall& call) {
    for (const Snapshot& snapshot : call.snapshots) {
        if (!snapshot.is_written) {
            continue;
        }
        if (call.is_computed && snapshot.on_host.numel() != 0) {
            const auto* const bytes = snapshot.on_host.data_ptr();
            device_values()->write(snapshot.device, snapshot.bytes, bytes, kind_of_results(call));
        } else {
            device_values()->forget(snapshot.device, snapshot.bytes);
        }
    }
}

template <class Visit>
void visit_tensors(c10::ArrayRef<const c10::IValue> inputs, Visit visit) {
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].isTensor()) {
            visit(inputs[i].toTensor(), i);
        } else if (inputs[i].isList()) {
            for (const c10::IValue& item : inputs[i].toListRef()) {
                if (item.isTensor()) {
                    visit(item.toTensor(), i);
                }
            }
        }
    }
}

bool host_may_compute(const OperatorInfo& info) {
    return info.may_compute && info.failure_count < kMaxFailures;
}

Inputs inspect(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
    Inputs found;
    found.are_computable = host_may_compute(info);
    visit_tensors(inputs, [&](const at::Tensor& tensor, size_t index) {
        if (found.are_computable && is_device_tensor(tensor)) {
            found.add(tensor, index < info.only_writes.size() && info.only_writes[index]);
        }
    });
    return found;
}

void forget_written(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
    visit_tensors(inputs, [&](const at::Tensor& tensor, size_t index) {
        if (index < info.writes.size() && info.writes[index] && is_device_tensor(tensor)) {
            device_values()->forget(tensor.data_ptr(), span_bytes(tensor));
        }
    });
}

bool is_worth_computing(const OperatorInfo& info,
                        const HostArguments& host,
                        const OperatorCall& call) {
    const bool knows_one = std::any_of(call.snapshots.begin(),
                                       call.snapshots.end(),
                                       [](const Snapshot& snapshot) { return snapshot.is_known; });
    return host.may_compute && host_may_compute(info) &&
           (knows_one || call.is_exact || info.orders || host.element_count <= kMaxUnknownElements);
}

}  // namespace

std::unique_ptr<OperatorCall> begin_operator(const OperatorInfo& info,
                                             c10::ArrayRef<const c10::IValue> inputs,
                                             RunningOperator* running) {
    if (!info.is_leaf || !runs_now()) {
        return nullptr;
    }
    if (info.makes_zeros && routing_is_assumed()) {
        return nullptr;
    }
    const Inputs found = inspect(info, inputs);
    // The common case: nothing to compute and nothing to wait for.
    if (!found.may_compute() && device_values()->may_await_others() == 0) {
        forget_written(info, inputs);
        return nullptr;
    }
    auto call = std::make_unique<OperatorCall>();
    call->is_chosen = found.is_chosen;
    call->is_zero = found.has_tensors && found.are_zero;
    HostArguments host(info, found.may_compute(), call.get());
    call->arguments.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        call->arguments.push_back(host.take(inputs[i], i));
    }
    if (call->is_left_alone) {
        forget_written(info, inputs);
    }
    if (!is_worth_computing(info, host, *call)) {
        call->arguments.clear();
    } else if (info.reads_result) {
        compute(info, call.get());
        if (running != nullptr && call->is_computed) {
            running->result = read_result(info, call->results);
            running->is_result_exact = call->is_exact;
        }
    }
    return call;
}

void end_operator(const OperatorInfo& info,
                  OperatorCall* call,
                  const std::vector<c10::IValue>& outputs) {
    const auto fits = [call](const c10::IValue& output) {
        if (!output.isTensor() || !output.toTensor().defined()) {
            return true;
        }
        return has_known_sizes(output.toTensor()) && may_hold_result(output.toTensor(), *call);
    };
    if (call != nullptr && call->is_left_alone) {
        return;
    }
    const bool computes = call != nullptr && !call->arguments.empty() &&
                          std::all_of(outputs.begin(), outputs.end(), fits);
    if (computes) {
        compute(info, call);
    }
    if (call != nullptr) {
        update_inputs(*call);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const bool has_result = call != nullptr && i < call->results.size();
        update_outputs(call, outputs[i], has_result ? &call->results[i] : nullptr);
    }
    if (info.makes_zeros && routing_is_assumed()) {
        note_zeros(outputs);
    }
}

}  // namespace peakline::simulated
