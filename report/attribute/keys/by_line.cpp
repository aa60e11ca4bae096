// --by line: the line of the chosen frame, and the operator that allocated below it.
#include "report/attribute/grouping.h"
#include "report/attribute/via.h"

namespace peakline::report {

Placement place_by_line(StackLookup& stacks, const BlockGroup& block) {
    Placement placement;
    if (place_without_frame(stacks, block, &placement)) {
        return placement;
    }
    const ContinuedStack stack = stacks.stack_of(block.context);
    const size_t chosen = stacks.chosen_index(stack);
    const Location location = location_of(stacks.definitions(), stack.frames[chosen]);
    placement.label.key = location_key(location);
    placement.label.frames = {location};
    placement.through_forward = stack.is_forward(chosen);
    if (stacks.choice() == FrameChoice::kCaller) {
        placement.via = via_of(stacks, block.context, stack, chosen);
    }
    return placement;
}

}  // namespace peakline::report
