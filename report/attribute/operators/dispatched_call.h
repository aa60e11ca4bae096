// The operator call of a stack that runs under a dispatch mode or a tensor class written in Python.
// Used by call_rules only.
//
// Note [Dispatch modes]
// Such a mode gets every operator in __torch_dispatch__ and calls it itself. What autograd handed
// on is then outside of the mode's Python frames, and within them no operator is handed on: the
// parts of one call look like calls of their own. But all of them lie below the frame in which the
// mode called the operator.
#pragma once

#include <cstdint>
#include <string>

#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

struct DispatchedCall {
    uint32_t python_node = 0;  // of the call in torch/_ops.py; 0: no mode called an operator
    // The outermost one within it. 0: the operator is written in Python, and native stacks end
    // there.
    uint32_t native_node = 0;
    std::string name;  // "aten::mm"; empty: the recorder did not live to hear it
};

DispatchedCall find_dispatched_call(StackLookup& stacks, const Context& context);

}  // namespace peakline::report
