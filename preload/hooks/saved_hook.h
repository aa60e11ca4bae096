// Records when autograd saves a block for a backward pass, and by which operator. Torch constructs
// a SavedVariable for each saved tensor; its libraries call the constructor through their imports.
#pragma once

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Call before hook_saved_tensors(): without it nothing is hooked, and nothing costs.
void want_saved_tensors();
// Adds the hooks if they are wanted; hook_all_libraries_slow() must follow. `part` must outlive
// them.
void hook_saved_tensors(const torch_part::Part& part);
// They are wanted, but this torch or its part lacks a function for them.
bool misses_saved_tensors();

}  // namespace peakline::preload
