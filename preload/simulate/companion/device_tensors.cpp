#include "device_tensors.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "device_values.h"

namespace peakline::simulated {

bool has_known_sizes(const at::Tensor& tensor) {
    return !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

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

bool has_exact_values(const at::Tensor& tensor) {
    return device_values()->read(tensor.data_ptr(), span_bytes(tensor), nullptr) == kExact;
}

int origin_of(const at::Tensor& tensor) {
    return device_values()->origin(tensor.data_ptr(), span_bytes(tensor));
}

at::Tensor host_like(const at::Tensor& tensor) {
    return at::Tensor(
        at::detail::empty_strided_cpu(tensor.sizes(), tensor.strides(), tensor.scalar_type()));
}

bool runs_now() {
    constexpr c10::DispatchKeySet kModes({c10::DispatchKey::PythonTLSSnapshot,
                                          c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                                          c10::DispatchKey::Functionalize});
    return !c10::impl::tls_local_dispatch_key_set().included_.has_any(kModes) &&
           device_values()->is_capturing() == 0;
}

}  // namespace peakline::simulated
