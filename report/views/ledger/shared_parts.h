// The memory that a process shares with others, see format::SharedMemory.
#pragma once

#include <vector>

#include "driver_memory.h"
#include "ledger.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// Most bytes first.
std::vector<SharedPart> shared_parts(const DriverMemory::Requests& requests, StackLookup& stacks);

}  // namespace peakline::report
