// Finds the operator that allocated a block: a walk over its native stack, outward from the
// allocator.
#pragma once

#include <string>

#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

struct FoundOperators {
    std::string innermost;  // in torch's schemas, as called; empty: none
    // The innermost operator that is not a mere allocation such as aten::empty_strided; also the
    // function of an extension, or a part of torch's communication, by its own name. Empty: only
    // the program's own line.
    std::string allocating;
    // The kernel that torch registered for an operator, by its generated name, if the operator was
    // called without a name, by the dispatcher's boxed way (compiled code does that). Empty: none.
    std::string kernel;
};

FoundOperators find_operators(StackLookup& stacks, const Context& context);

// The name for --by op: the operator that allocated, else the name from Python or the autograd
// node, else the allocation that the program itself called. Empty: no operator.
std::string operator_of(StackLookup& stacks, uint32_t context_id);

// "aten::empty.memory_format" and similar operators: they return memory to their caller.
bool is_mere_allocation(const std::string& operator_name);

}  // namespace peakline::report
