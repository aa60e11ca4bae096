// From stacks to what replay must know of calls: which modules run and which operator asked for the
// memory, for every context of a trace.
#pragma once

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/calls/call_rules.h"

namespace peakline::report {

// Which names are worked out: those of operators cost a walk over every native stack.
enum class CallNames { kLayers, kLayersAndOperators };

// Operators are named as torch's dispatch modes see them, "addmm.default": the outermost one of the
// native stack above autograd's dispatch; otherwise the name of --by op.
CallRules make_call_rules(StackLookup& stacks, CallNames names);

}  // namespace peakline::report
