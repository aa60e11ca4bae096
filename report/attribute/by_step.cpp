// --by step: the step in which the block was made.
#include "grouping.h"

namespace peakline::report {

uint32_t step_facet(const TrackedBlock&, const BlockHistory& history, FacetHelp&) {
    return history.made_step.has_value() ? *history.made_step + 1 : 0;
}

Placement place_by_step(StackLookup& stacks, const BlockGroup& block) {
    if (block.facet == 0) {
        return named_placement(is_untraced(stacks, block) ? kUntracedName : "outside of all steps");
    }
    return named_placement("step " + std::to_string(block.facet - 1));
}

}  // namespace peakline::report
