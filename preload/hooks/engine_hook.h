// Marks the beginning and end of each run of torch's autograd engine and of each node. Memory freed
// between the last node and the return to Python belongs to the backward pass, too.
#pragma once

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Redirects calls of the engine, and the engine's calls for each node. Does nothing if they are
// redirected already, or if this torch lacks the functions. `part` must outlive the hooks. Call
// again when libraries were loaded.
//
// Note [Nodes without an observer]
// An observer of backward functions (at::RecordFunction) costs far more than its report is worth.
// torch then rebuilds its lists of observers twice per node, fetches the node's name and builds the
// arguments of its callbacks: together 850 instructions per event of a training step. The engine
// calls Engine::evaluate_function for every node through an import of its own library, so we
// redirect that import. The observer is attached only where the import is missing.
void hook_engine(const torch_part::Part& part);

}  // namespace peakline::preload
