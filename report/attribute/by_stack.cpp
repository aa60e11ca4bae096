// --by stack: the whole python stack, leaf first, without hidden frames.
#include "grouping.h"

namespace peakline::report {

Placement place_by_stack(StackLookup& stacks, const BlockGroup& block) {
    Placement placement;
    if (place_without_frame(stacks, block, &placement)) {
        return placement;
    }
    const OwnedStack stack = stacks.owned_stack(block.context);
    placement.through_forward = stack.through_forward;
    for (const uint32_t frame : stacks.shown_frames(stack.node)) {
        placement.label.frames.push_back(location_of(stacks.definitions(), frame));
        placement.label.key += location_key(placement.label.frames.back()) + "\n";
    }
    return placement;
}

}  // namespace peakline::report
