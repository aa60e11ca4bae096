// What the program asks of torch's allocator besides blocks: pools, emptied caches, limits,
// settings. Calls that come before a trace is open are kept as what still holds of them.
#pragma once

#include <cstdint>

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Of torch_part::Host.
void allocator_called(uint32_t action, int device, uint64_t pool, uint64_t value);
void settings_given(const char* settings);

// Redirects the functions by which a program gives new settings.
void hook_settings(const torch_part::Part& part);

// For a trace that has just been opened.
void restate_allocator_calls();

void prepare_fork_allocator_calls();
void parent_after_fork_allocator_calls();
void child_after_fork_allocator_calls();

}  // namespace peakline::preload
