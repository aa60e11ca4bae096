// Note [Values]
// Unknown contents of the device read as zero. An operator with only small tensors is computed on
// the host from their contents, and the result becomes the contents of its outputs. The result is
// exact if every input was, else "derived": computed from values that were taken as zero. Programs
// then see one consistent device: 0 == 0 is true there, a counter counts, a length reaches its
// limit. Nothing is computed under a graph capture, under Python dispatch modes (tracing), with
// random numbers, or for tensors above kMaxElements. A derived floating-point result that is not
// finite becomes zero: 0 / 0 is expected without values. After every operator the old contents of
// its outputs are forgotten. Contents that it only read stay (its launches forget nothing).
#include "small_operators.h"

#include <algorithm>
#include <cstring>

#include <ATen/EmptyTensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include "device_values.h"

namespace peakline::simulated {
namespace {

constexpr int64_t kMaxElements = 32768;        // cheap enough for one thread
constexpr int64_t kMaxUnknownElements = 1024;  // for operators with no known input
constexpr int kMaxFailures = 3;
constexpr int kBeingDelivered = -2;  // a result of DeviceValues::read

bool is_device_tensor(const at::Tensor& tensor) {
    constexpr c10::DispatchKeySet kOther({c10::DispatchKey::Python,
                                          c10::DispatchKey::FuncTorchGradWrapper,
                                          c10::DispatchKey::FuncTorchBatched,
                                          c10::DispatchKey::Conjugate,
                                          c10::DispatchKey::Negative,
                                          c10::DispatchKey::Functionalize});
    return tensor.defined() && tensor.device().is_cuda() && tensor.layout() == at::kStrided &&
           !tensor.is_quantized() && !tensor.is_nested() && tensor.has_storage() &&
           !tensor.key_set().has_any(kOther) && has_known_sizes(tensor);
}

size_t span_bytes(const at::Tensor& tensor) {
    return at::detail::computeStorageNbytes(
        tensor.sizes(), tensor.strides(), tensor.dtype().itemsize());
}

// Bypasses the dispatcher, so no observer sees it.
at::Tensor host_like(const at::Tensor& tensor) {
    return at::Tensor(
        at::detail::empty_strided_cpu(tensor.sizes(), tensor.strides(), tensor.scalar_type()));
}

bool is_small(const at::Tensor& tensor) {
    return tensor.numel() <= kMaxElements && span_bytes(tensor) <= kMaxElements * 8;
}

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

bool is_traced() {
    constexpr c10::DispatchKeySet kModes({c10::DispatchKey::PythonTLSSnapshot,
                                          c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                                          c10::DispatchKey::Functionalize});
    return c10::impl::tls_local_dispatch_key_set().included_.has_any(kModes);
}

// Replaces device tensors in an argument by host tensors with their contents.
class HostArguments {
public:
    HostArguments(const OperatorInfo& info, OperatorCall* call) : info_(info), call_(call) {}

    bool may_compute = true;
    bool has_tensors = false;
    int64_t element_count = 0;

    c10::IValue take(const c10::IValue& value, size_t index) {
        const Access access{index < info_.writes.size() && info_.writes[index],
                            index < info_.only_writes.size() && info_.only_writes[index]};
        if (value.isTensor()) {
            return take_tensor(value.toTensor(), access);
        }
        if (value.isDevice() && value.toDevice().is_cuda()) {
            return c10::IValue(c10::Device(c10::kCPU));
        }
        return value.isList() && holds_tensors(value) ? take_list(value, access) : value;
    }

private:
    struct Access {
        bool writes;
        bool only_writes;
    };

    static bool holds_tensors(const c10::IValue& value) {
        const auto items = value.toListRef();
        return std::any_of(
            items.begin(), items.end(), [](const c10::IValue& item) { return item.isTensor(); });
    }

    c10::IValue take_list(const c10::IValue& value, Access access) {
        auto copy = c10::impl::GenericList(value.toList().elementType());
        for (const c10::IValue& item : value.toListRef()) {
            copy.push_back(item.isTensor() ? take_tensor(item.toTensor(), access) : item);
        }
        return copy;
    }

    c10::IValue take_tensor(const at::Tensor& tensor, Access access) {
        if (!tensor.defined()) {
            return tensor;
        }
        if (!is_device_tensor(tensor)) {
            // Writing to a host tensor would change the program's own data.
            may_compute = may_compute && tensor.device().is_cpu() && !access.writes;
            return tensor;
        }
        has_tensors = true;
        const size_t bytes = span_bytes(tensor);
        if (!is_small(tensor)) {
            may_compute = false;
            if (access.writes) {
                device_values()->forget(tensor.data_ptr(), bytes);
            }
            return tensor;
        }
        element_count = std::max(element_count, tensor.numel());
        Snapshot snapshot{tensor.data_ptr(), bytes, host_like(tensor), false, false, access.writes};
        if (bytes != 0) {
            std::memset(snapshot.on_host.data_ptr(), 0, bytes);
            const int known = read(tensor, &snapshot);
            may_compute = may_compute && known >= 0;
            call_->is_left_alone = call_->is_left_alone || known == kBeingDelivered;
            snapshot.is_known = known > 0;
            snapshot.is_exact = known == 2;
        } else {
            snapshot.is_exact = true;
        }
        call_->is_exact = call_->is_exact && (snapshot.is_exact || access.only_writes);
        call_->snapshots.push_back(std::move(snapshot));
        return call_->snapshots.back().on_host;
    }

    int read(const at::Tensor& tensor, Snapshot* snapshot) const {
        void* const host = snapshot->on_host.data_ptr();
        const int known = device_values()->read(snapshot->device, snapshot->bytes, host);
        const bool waits =
            known == kBeingDelivered && info_.awaits_others && tensor.scalar_type() == at::kLong;
        if (!waits) {
            return known;
        }
        device_values()->await(snapshot->device, snapshot->bytes);
        return device_values()->read(snapshot->device, snapshot->bytes, host);
    }

    const OperatorInfo& info_;
    OperatorCall* call_;
};

void compute(const OperatorInfo& info, OperatorCall* call) {
    const InsideTorch inside;
    try {
        call->results = std::move(call->arguments);
        info.handle->callBoxed(call->results);
        call->is_computed = true;
    } catch (const std::exception&) {
        // The host has no such kernel, or it refuses the values: outputs read as zero.
        ++info.failure_count;
    }
    call->arguments.clear();
}

// The number of elements found, or a bool result.
int64_t read_result(const torch::jit::Stack& results) {
    if (!results.empty() && results.front().isBool()) {
        return results.front().toBool() ? 1 : 0;
    }
    const bool has_tensor = !results.empty() && results.front().isTensor();
    return has_tensor && results.front().toTensor().dim() > 0 ? results.front().toTensor().size(0)
                                                              : kUnknownResult;
}

void write_values(const at::Tensor& device, const at::Tensor& host, bool is_exact) {
    const InsideTorch inside;
    at::Tensor values = host;
    if (!is_exact && values.is_floating_point()) {
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
    device_values()->write(device.data_ptr(), bytes, values.data_ptr(), is_exact ? 1 : 0);
}

void update_output(const OperatorCall* call, const at::Tensor& output, const c10::IValue* result) {
    if (!is_device_tensor(output) || output.numel() == 0) {
        return;
    }
    const bool matches = call != nullptr && call->is_computed && result != nullptr &&
                         result->isTensor() && result->toTensor().device().is_cpu() &&
                         result->toTensor().sizes() == output.sizes() &&
                         !result->toTensor().is_complex() && output.numel() <= kMaxElements;
    if (matches) {
        write_values(output, result->toTensor(), call->is_exact);
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

// Updates or forgets inputs that were written but not returned.
void update_inputs(const OperatorCall& call) {
    for (const Snapshot& snapshot : call.snapshots) {
        if (!snapshot.is_written) {
            continue;
        }
        if (call.is_computed && snapshot.on_host.numel() != 0) {
            const auto* const bytes = snapshot.on_host.data_ptr();
            device_values()->write(snapshot.device, snapshot.bytes, bytes, call.is_exact ? 1 : 0);
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

// Fast path for the common case: nothing to compute and nothing to wait for.
bool is_left_to_device(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
    if (device_values()->may_await_others() != 0) {
        return false;
    }
    bool is_computable = info.may_compute && info.failure_count < kMaxFailures;
    visit_tensors(inputs, [&](const at::Tensor& tensor, size_t) {
        is_computable = is_computable && (!is_device_tensor(tensor) || is_small(tensor));
    });
    return !is_computable;
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
    return host.may_compute && info.may_compute && info.failure_count < kMaxFailures &&
           (knows_one || !host.has_tensors || host.element_count <= kMaxUnknownElements);
}

}  // namespace

bool has_known_sizes(const at::Tensor& tensor) {
    return !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

std::unique_ptr<OperatorCall> begin_operator(const OperatorInfo& info,
                                             c10::ArrayRef<const c10::IValue> inputs,
                                             RunningOperator* running) {
    if (!info.is_leaf || is_traced() || device_values()->is_capturing() != 0) {
        return nullptr;
    }
    if (is_left_to_device(info, inputs)) {
        forget_written(info, inputs);
        return nullptr;
    }
    auto call = std::make_unique<OperatorCall>();
    HostArguments host(info, call.get());
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
        if (running != nullptr && call->is_computed && call->is_exact) {
            running->exact_result = read_result(call->results);
        }
    }
    return call;
}

void end_operator(const OperatorInfo& info,
                  OperatorCall* call,
                  const std::vector<c10::IValue>& outputs) {
    const auto is_small = [](const c10::IValue& output) {
        if (!output.isTensor() || !output.toTensor().defined()) {
            return true;
        }
        return has_known_sizes(output.toTensor()) && output.toTensor().numel() <= kMaxElements;
    };
    if (call != nullptr && call->is_left_alone) {
        return;
    }
    const bool computes = call != nullptr && !call->arguments.empty() &&
                          std::all_of(outputs.begin(), outputs.end(), is_small);
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
}

}  // namespace peakline::simulated
