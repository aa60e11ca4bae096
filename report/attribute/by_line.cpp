// --by line: the line of the chosen frame.
#include "grouping.h"

namespace peakline::report {

Placement place_by_line(StackLookup& stacks, const BlockGroup& block) {
    Placement placement;
    if (place_without_frame(stacks, block, &placement)) {
        return placement;
    }
    const OwnedStack stack = stacks.owned_stack(block.context);
    const Location location = location_of(stacks.definitions(), stacks.chosen_frame(stack.node));
    placement.label.key = location_key(location);
    placement.label.frames = {location};
    placement.through_forward = stack.through_forward;
    return placement;
}

}  // namespace peakline::report
