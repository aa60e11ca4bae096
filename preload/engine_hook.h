// Marks where a run of torch's autograd engine begins and ends: what is freed between the last
// node and the return to Python belongs to the backward pass, too.
#pragma once

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// The name of the scope, known to report/attribute.
inline constexpr char kEngineScope[] = "torch::autograd::Engine::execute";

// Leads libtorch_python's calls of the engine through ours; without effect when they are already,
// or when this torch has no such function.
void hook_engine(const torch_part::Host& host);

}  // namespace peakline::preload
