// What torch's autograd engine and record_function tell: nodes that run, engines within nodes,
// named scopes.
#pragma once

#include <cstdint>

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Before the first of the others. False when memory cannot be mapped.
bool init_operator_names();

// The entries of torch_part::Host.
void begin_node(const char* name, int64_t sequence, uint64_t forward_thread);
void end_node();
void begin_scope(const char* name);
void end_scope(const char* name);

// Around a run of the engine on this thread, also one within a node. The first returns what the
// second must be given.
uint32_t begin_engine_run();
void end_engine_run(uint32_t outer_caller);

// The same as begin_node, of the torch::autograd::Node at `node`: its name is asked for once a
// type. Never throws.
void begin_node_of(const torch_part::Part& part, const void* node);

}  // namespace peakline::preload
