// What stands between a line of the program and the memory: the operator of torch that asked for
// it, or the line of a library that was passed over.
#pragma once

#include <string>

#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// "aten::addmm" (without its overload), or "adamw.py:130 (_init_group)" where no operator asked.
// `chosen`: the frame that stands for the stack. Empty: not known.
std::string via_of(StackLookup& stacks,
                   uint32_t context_id,
                   const ContinuedStack& stack,
                   size_t chosen);

// The same of a native frame that stands for its stack. Empty where it is the operator itself.
std::string via_of_native(StackLookup& stacks, uint32_t context_id, const Location& chosen);

}  // namespace peakline::report
