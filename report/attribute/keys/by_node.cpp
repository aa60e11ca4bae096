// --by node: the autograd node that ran when the block was made, and the forward line that made the
// node; also if a hook or a function of the user ran in between, for which the other keys show its
// own lines. --by node-stack: the whole forward stack.
#include "report/attribute/grouping.h"

namespace peakline::report {
namespace {

constexpr const char* kNoNode = "made outside backward";

Placement place(StackLookup& stacks, const BlockGroup& block, bool whole_stack) {
    if (is_untraced(stacks, block)) {
        return named_placement(kUntracedName);
    }
    const Definitions& definitions = stacks.definitions();
    const Context& context = definitions.contexts[block.context];
    if (context.forward_node == 0 && context.operator_name == 0) {
        return named_placement(is_unrecorded(stacks, block) ? kUnrecordedName : kNoNode);
    }
    Placement placement = named_placement(std::string(definitions.text(context.operator_name)));
    placement.through_forward = true;
    if (context.forward_node == 0) {
        placement.label.name += " (its forward line was not recorded)";
        placement.label.key = placement.label.name;
        return placement;
    }
    const ContinuedStack stack = stacks.forward_stack(context.forward_node);
    std::vector<uint32_t> frames = {stack.frames[stacks.chosen_index(stack)]};
    if (whole_stack) {
        frames = stacks.shown_frames(stack);
    }
    for (const uint32_t frame : frames) {
        placement.label.frames.push_back(location_of(definitions, frame));
        placement.label.key += "\n" + location_key(placement.label.frames.back());
    }
    return placement;
}

}  // namespace

Placement place_by_node(StackLookup& stacks, const BlockGroup& block) {
    return place(stacks, block, false);
}

Placement place_by_node_stack(StackLookup& stacks, const BlockGroup& block) {
    return place(stacks, block, true);
}

}  // namespace peakline::report
