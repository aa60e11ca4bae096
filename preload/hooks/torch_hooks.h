// The hook bodies for torch: what runs when torch reports a block, takes an autograd sequence
// number, allocates through the delegate, or runs a backward node. They may open a scope, call the
// real function and call the recorder; no lock of theirs, no heap, no print, no waiting.
#pragma once

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// The table the torch part calls. Valid for the life of the process.
const torch_part::Host& torch_host();

// Where the part puts what it offers in return.
torch_part::Part& torch_part_slot();

// Redirects torch's two functions to the hooks in every loaded library. Call again after
// libraries were loaded. False when torch's libraries do not have them; `reason` then says which.
bool hook_torch_imports(const char** reason);

}  // namespace peakline::preload
