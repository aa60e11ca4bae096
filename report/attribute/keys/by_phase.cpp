// --by phase: the program's phase. The stack decides, see phase_rules.h; if it does not, the phase
// at the moment of the allocation does, which only a trace with events has.
#include "report/attribute/grouping.h"

namespace peakline::report {

Facet phase_facet(const TrackedBlock&, const BlockHistory& history, FacetHelp&) {
    return {.value = static_cast<uint32_t>(history.made_in)};
}

BlockRow row_by_phase(StackLookup& stacks, const BlockGroup& block) {
    if (is_untraced(stacks, block)) {
        return named_row(kUntracedName);
    }
    if (is_unrecorded(stacks, block)) {
        return named_row(kUnrecordedName);
    }
    if (stacks.definitions().is_lost(block.context)) {
        return named_row(kLostName);
    }
    const Phase of_stack = stacks.phase_rules().contexts[block.context].phase;
    const bool needs_moment = of_stack == Phase::kOther && block.facet.value != 0;
    return named_row(phase_name(needs_moment ? static_cast<Phase>(block.facet.value) : of_stack));
}

}  // namespace peakline::report
