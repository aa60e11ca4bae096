// --by phase: what the program was doing. The stack decides, see phase_rules.h; where it does not,
// the phase that lasted at the moment of the allocation, which only a trace with events knows.
#include "report/attribute/grouping.h"

namespace peakline::report {

Facet phase_facet(const TrackedBlock&, const BlockHistory& history, FacetHelp&) {
    return {.value = static_cast<uint32_t>(history.made_in)};
}

Placement place_by_phase(StackLookup& stacks, const BlockGroup& block) {
    if (is_untraced(stacks, block)) {
        return named_placement(kUntracedName);
    }
    if (is_unrecorded(stacks, block)) {
        return named_placement(kUnrecordedName);
    }
    if (stacks.definitions().is_lost(block.context)) {
        return named_placement(kLostName);
    }
    const Phase said = stacks.phase_rules().contexts[block.context].phase;
    const bool asks_moment = said == Phase::kOther && block.facet.value != 0;
    return named_placement(phase_name(asks_moment ? static_cast<Phase>(block.facet.value) : said));
}

}  // namespace peakline::report
