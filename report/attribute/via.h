// The code between a line of the program and its memory: the operator of torch that allocated it,
// or the line of a library that was passed over.
#pragma once

#include <string>

#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// Returns "aten::addmm" (without its overload), or "adamw.py:130 (_init_group)" if no operator
// allocated. `chosen`: the frame that reports show. Empty: unknown.
std::string via_of(StackLookup& stacks,
                   uint32_t context_id,
                   const ContinuedStack& stack,
                   size_t chosen);

// The same for a native frame that reports show. Empty when it is the operator itself.
std::string via_of_native(StackLookup& stacks, uint32_t context_id, const Location& chosen);

}  // namespace peakline::report
