// Finds the operator call of a stack under a dispatch mode or a tensor class written in Python.
// Used by call_rules only.
//
// Note [Dispatch modes]
// Such a mode gets every operator in __torch_dispatch__ and calls it itself. The operator that
// autograd redispatched is then outside of the mode's Python frames, and within them no operator is
// redispatched: the parts of one call look like separate calls. But all of them are below the frame
// in which the mode called the operator.
#pragma once

#include <cstdint>
#include <string>

#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

struct DispatchedCall {
    uint32_t python_node = 0;  // the call's node in torch/_ops.py; 0: no mode called an operator
    // The outermost native node within the call. 0: the operator is written in Python, where native
    // stacks end.
    uint32_t native_node = 0;
    std::string name;  // "aten::mm"; empty: recording ended before the name was reported
};

DispatchedCall find_dispatched_call(StackLookup& stacks, const Context& context);

}  // namespace peakline::report
