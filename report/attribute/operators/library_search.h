// Which library asked the driver for memory. Used by --by library and the ledger.
#pragma once

#include <cstdint>
#include <string>

#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// The first library of a native stack that asks for itself, by its file name, a Python module by
// the name that it is imported by: the CUDA runtime and what only passes calls on are nobody's
// name. "unknown library" where there is no native stack.
std::string asking_library(StackLookup& stacks, uint32_t context);

}  // namespace peakline::report
