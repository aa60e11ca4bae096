// --by step: the step that made the block.
#include "report/attribute/grouping.h"

namespace peakline::report {

// Steps from 1; 0: none.
Facet step_facet(const TrackedBlock&, const BlockHistory& history, FacetHelp&) {
    return {.value = history.made_step.has_value() ? *history.made_step + 1 : 0};
}

BlockRow row_by_step(StackLookup& stacks, const BlockGroup& block) {
    if (block.facet.value == 0) {
        return named_row(is_untraced(stacks, block) ? kUntracedName : "outside of all steps");
    }
    return named_row("step " + std::to_string(block.facet.value - 1));
}

}  // namespace peakline::report
