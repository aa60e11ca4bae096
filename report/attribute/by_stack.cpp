// --by stack: the whole python stack, leaf first, without hidden frames. In the backward pass it
// goes on with the forward stack, see Note [Continued stacks].
#include "grouping.h"

namespace peakline::report {

Placement place_by_stack(StackLookup& stacks, const BlockGroup& block) {
    Placement placement;
    if (place_without_frame(stacks, block, &placement)) {
        return placement;
    }
    const ContinuedStack stack = stacks.stack_of(block.context);
    placement.through_forward = stack.is_forward(stacks.chosen_index(stack));
    for (const uint32_t frame : stacks.shown_frames(stack)) {
        placement.label.frames.push_back(location_of(stacks.definitions(), frame));
        placement.label.key += location_key(placement.label.frames.back()) + "\n";
    }
    return placement;
}

}  // namespace peakline::report
