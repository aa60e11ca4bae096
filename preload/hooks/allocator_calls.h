// Calls of the program to torch's allocator other than for blocks: pools, emptied caches, limits,
// settings. Calls from before a trace opens are reduced to the state they leave.
#pragma once

#include <cstdint>

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Entries of torch_part::Host.
void allocator_called(uint32_t action, int device, uint64_t pool, uint64_t value);
void settings_given(const char* settings);

// Redirects the functions by which a program changes settings.
void hook_settings(const torch_part::Part& part);

// For a trace that has just been opened.
void restate_allocator_calls();

void prepare_fork_allocator_calls();
void parent_after_fork_allocator_calls();
void child_after_fork_allocator_calls();

}  // namespace peakline::preload
