// --by node: the autograd node that ran when the block was made, and the forward line that made the
// node; also if a hook or a function of the user ran in between, for which the other keys show its
// own lines. --by node-stack: the whole forward stack.
#include "report/attribute/grouping.h"

namespace peakline::report {
namespace {

constexpr const char* kNoNode = "made outside backward";

BlockRow row_of(StackLookup& stacks, const BlockGroup& block, bool whole_stack) {
    if (is_untraced(stacks, block)) {
        return named_row(kUntracedName);
    }
    const Definitions& definitions = stacks.definitions();
    const Context& context = definitions.contexts[block.context];
    if (context.forward_node == 0 && context.operator_name == 0) {
        return named_row(is_unrecorded(stacks, block) ? kUnrecordedName : kNoNode);
    }
    BlockRow row = named_row(std::string(definitions.text(context.operator_name)));
    row.through_forward = true;
    if (context.forward_node == 0) {
        row.label.name += " (its forward line was not recorded)";
        row.label.key = row.label.name;
        return row;
    }
    const ContinuedStack stack = stacks.forward_stack(context.forward_node);
    std::vector<uint32_t> frames = {stack.frames[stacks.chosen_index(stack)]};
    if (whole_stack) {
        frames = stacks.shown_frames(stack);
    }
    for (const uint32_t frame : frames) {
        row.label.frames.push_back(location_of(definitions, frame));
        row.label.key += "\n" + location_key(row.label.frames.back());
    }
    return row;
}

}  // namespace

BlockRow row_by_node(StackLookup& stacks, const BlockGroup& block) {
    return row_of(stacks, block, false);
}

BlockRow row_by_node_stack(StackLookup& stacks, const BlockGroup& block) {
    return row_of(stacks, block, true);
}

}  // namespace peakline::report
