// Finds the library that requested memory from the driver. Used by --by library and the ledger.
#pragma once

#include <cstdint>
#include <string>

#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// Returns the first library of a native stack that allocates for itself, by its file name; for a
// Python module its import name. Skips the CUDA runtime and code that only passes calls on.
// "unknown library" without a native stack.
std::string requesting_library(StackLookup& stacks, uint32_t context);

}  // namespace peakline::report
