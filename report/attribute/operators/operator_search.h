// Which operator asked for a block: a walk over its native stack, outward from the allocator.
#pragma once

#include <string>

#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

struct FoundOperators {
    std::string innermost;  // of torch's schemas, as called; empty: none
    // Who asked: the innermost that is not a mere allocation such as aten::empty_strided; also the
    // function of an extension, or a part of torch's communication, by its own name. Empty: nobody
    // but the program's own line.
    std::string asking;
    // Called without a name of its own, by the dispatcher's boxed way (compiled code does that):
    // the kernel that torch registered for it, as torch generates its name. Empty: none.
    std::string kernel;
};

FoundOperators find_operators(StackLookup& stacks, const Context& context);

// What --by op says: the operator that asked, else what Python or the autograd node shows, else the
// allocation that the program itself called. Empty: no operator.
std::string operator_of(StackLookup& stacks, uint32_t context_id);

// "aten::empty.memory_format" and its like: they give memory to whoever calls them.
bool is_mere_allocation(const std::string& operator_name);

}  // namespace peakline::report
