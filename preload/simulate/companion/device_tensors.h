// Tensors of the device, their known contents, and the mode of the thread: what the companion may
// compute with.
#pragma once

#include <cstddef>

#include <ATen/core/Tensor.h>

namespace peakline::simulated {

// Whether the tensor has sizes as numbers. Dynamic shapes of torch.compile are symbols, and asking
// for their numbers throws.
bool has_known_sizes(const at::Tensor& tensor);

// Whether it is a plain tensor on the device: not a subclass, not lazy, not sparse.
bool is_device_tensor(const at::Tensor& tensor);

// From its first element to its last.
size_t span_bytes(const at::Tensor& tensor);

// Whether all its contents are known, and follow from the host's data (Note [Values]).
bool has_exact_values(const at::Tensor& tensor);

// The origin of its contents: parts of ValueKind.
int origin_of(const at::Tensor& tensor);

// A tensor on the host with these sizes and strides, made without the dispatcher: no observer sees
// it. Its contents are undefined.
at::Tensor host_like(const at::Tensor& tensor);

// Whether the operators of this thread run now: they are neither traced nor captured in a graph.
bool runs_now();

}  // namespace peakline::simulated
