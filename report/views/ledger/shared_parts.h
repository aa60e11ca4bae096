// The memory that a process shares with others, see format::SharedMemory.
#pragma once

#include <string_view>
#include <vector>

#include "driver_memory.h"
#include "ledger.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// The words of format::SharedMemory's name before the number.
inline constexpr std::string_view kOwnedName = "cuda-ipc owned ";
inline constexpr std::string_view kOpenedName = "cuda-ipc opened ";

// Most bytes first.
std::vector<SharedPart> shared_parts(const DriverMemory::Requests& requests, StackLookup& stacks);

}  // namespace peakline::report
