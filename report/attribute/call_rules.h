// Derives from stacks the facts that replay needs about calls: for every context of a trace, the
// running modules and the operator that allocated.
#pragma once

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/calls/call_rules.h"

namespace peakline::report {

// The names to find: those of operators cost a walk over every native stack.
enum class CallNames { kLayers, kLayersAndOperators };

// Names operators as torch's dispatch modes do, "addmm.default": the outermost operator above
// autograd's dispatch; otherwise the `--by op` name.
CallRules make_call_rules(StackLookup& stacks, CallNames names);

}  // namespace peakline::report
