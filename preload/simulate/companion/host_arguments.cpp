#include "host_arguments.h"

#include <algorithm>
#include <cstring>

#include "device_tensors.h"
#include "device_values.h"
#include "routing.h"

namespace peakline::simulated {
namespace {

constexpr int64_t kMaxIntegers = int64_t{1} << 22;
// With a routing: a mask of 131,072 tokens and 512 experts, and its scores.
constexpr int64_t kMaxRoutedIntegers = int64_t{1} << 26;
constexpr int64_t kMaxRoutedFloats = int64_t{1} << 24;

bool is_small(const at::Tensor& tensor) {
    return tensor.numel() <= kMaxElements && span_bytes(tensor) <= kMaxElements * 8;
}

bool is_computable(const at::Tensor& tensor) {
    return is_small(tensor) || is_large_integers(tensor) ||
           (may_be_routed(tensor) && (is_integral(tensor) || has_exact_values(tensor)));
}

bool holds_tensors(const c10::IValue& value) {
    const auto items = value.toListRef();
    return std::any_of(
        items.begin(), items.end(), [](const c10::IValue& item) { return item.isTensor(); });
}

}  // namespace

bool is_integral(const at::Tensor& tensor) {
    return c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
}

bool is_large_integers(const at::Tensor& tensor) {
    const at::ScalarType type = tensor.scalar_type();
    return is_integral(tensor) && type != at::kByte && type != at::kChar &&
           tensor.numel() <= kMaxIntegers && span_bytes(tensor) <= kMaxIntegers * 8;
}

bool may_be_routed(const at::Tensor& tensor) {
    return routing_is_assumed() &&
           tensor.numel() <= (is_integral(tensor) ? kMaxRoutedIntegers : kMaxRoutedFloats) &&
           span_bytes(tensor) <= kMaxRoutedIntegers * 8;
}

void Inputs::add(const at::Tensor& tensor, bool is_only_written) {
    has_tensors = true;
    are_computable = are_computable && is_computable(tensor);
    if (are_computable && !is_small(tensor)) {
        are_small_or_integers = are_small_or_integers && is_large_integers(tensor) &&
                                (is_only_written || has_exact_values(tensor));
    }
    if (are_computable && routing_is_assumed() && tensor.numel() != 0) {
        const int origin = origin_of(tensor);
        is_chosen = is_chosen || (origin & kChosenValues) != 0;
        are_zero = are_zero && (origin & kZeroValues) != 0;
    }
}

c10::IValue HostArguments::take(const c10::IValue& value, size_t index) {
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

c10::IValue HostArguments::take_list(const c10::IValue& value, Access access) {
    auto copy = c10::impl::GenericList(value.toList().elementType());
    for (const c10::IValue& item : value.toListRef()) {
        copy.push_back(item.isTensor() ? take_tensor(item.toTensor(), access) : item);
    }
    return copy;
}

c10::IValue HostArguments::take_tensor(const at::Tensor& tensor, Access access) {
    if (!tensor.defined()) {
        return tensor;
    }
    if (!is_device_tensor(tensor)) {
        // Writing to a host tensor would change the program's own data.
        may_compute = may_compute && tensor.device().is_cpu() && !access.writes;
        return tensor;
    }
    const size_t bytes = span_bytes(tensor);
    if (!is_computable(tensor) || (!is_small(tensor) && !takes_large_)) {
        may_compute = false;
        if (access.writes) {
            device_values()->forget(tensor.data_ptr(), bytes);
        }
        return tensor;
    }
    element_count = std::max(element_count, tensor.numel());
    Snapshot snapshot{tensor.data_ptr(), bytes, host_like(tensor), false, false, access.writes};
    if (bytes != 0) {
        if (is_small(tensor) || !has_exact_values(tensor)) {
            std::memset(snapshot.on_host.data_ptr(), 0, bytes);
        }
        const int known = read(tensor, &snapshot);
        may_compute = may_compute && known >= 0;
        call_->is_left_alone = call_->is_left_alone || known == kBeingDelivered;
        snapshot.is_known = known > 0;
        snapshot.is_exact = known == kExact;
    } else {
        snapshot.is_exact = true;
    }
    if (!snapshot.is_exact && !access.only_writes) {
        call_->may_overwrite = call_->is_exact && access.writes && info_.may_overwrite;
        call_->is_exact = false;
    }
    call_->snapshots.push_back(std::move(snapshot));
    return call_->snapshots.back().on_host;
}

int HostArguments::read(const at::Tensor& tensor, Snapshot* snapshot) const {
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

}  // namespace peakline::simulated
