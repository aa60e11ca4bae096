// Marks where a run of torch's autograd engine and each of its nodes begins and ends: what is
// freed between the last node and the return to Python belongs to the backward pass, too.
#pragma once

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Leads the calls of the engine, and the engine's calls for each node, through ours; without effect
// when they are already, or when this torch has no such function. `part` must stay. May be called
// again when libraries were loaded.
//
// Note [Nodes without an observer]
// An observer of backward functions (at::RecordFunction) costs far more than what it reports: torch
// then rebuilds its lists of observers twice for every node, asks the node for its name and
// builds the arguments of its callbacks; together 850 instructions for every event of a training
// step. The engine calls Engine::evaluate_function for every node through an import of its own
// library, so that call is led through ours. Where it is not, the observer is attached.
void hook_engine(const torch_part::Part& part);

}  // namespace peakline::preload
