// --by op: the operator of torch that asked for the block. The innermost one on the native stack;
// for memory of the autograd engine outside every operator the node that ran.
#include "grouping.h"
#include "operator_names.h"

namespace peakline::report {
namespace {

std::string innermost_operator(StackLookup& stacks, uint32_t native_node) {
    const Definitions& definitions = stacks.definitions();
    for (uint32_t node = native_node; node != 0; node = definitions.native_nodes[node].parent) {
        const uint32_t frame = definitions.native_nodes[node].frame;
        if (stacks.symbols().is_recorder(frame)) {
            continue;
        }
        std::string name = operator_of_symbol(stacks.symbols().name(frame));
        if (!name.empty()) {
            return name;
        }
    }
    return {};
}

// What asked for the memory instead of an operator: the python line, else the native function.
std::string innermost_place(StackLookup& stacks, const Context& context) {
    const Definitions& definitions = stacks.definitions();
    if (context.python_node != 0) {
        return location_key(location_of(definitions, stacks.chosen_frame(context.python_node)));
    }
    for (uint32_t node = context.native_node; node != 0;
         node = definitions.native_nodes[node].parent) {
        const uint32_t frame = definitions.native_nodes[node].frame;
        if (!stacks.symbols().is_recorder(frame)) {
            return stacks.symbols().name(frame);
        }
    }
    return kUnrecordedName;
}

}  // namespace

Placement place_by_op(StackLookup& stacks, const BlockGroup& block) {
    if (is_untraced(stacks, block)) {
        return named_placement(kUntracedName);
    }
    const Context& context = stacks.definitions().contexts[block.context];
    std::string name = innermost_operator(stacks, context.native_node);
    if (name.empty()) {
        name = stacks.definitions().text(context.operator_name);
    }
    if (name.empty()) {
        name = "no operator: " + innermost_place(stacks, context);
    }
    return named_placement(std::move(name));
}

}  // namespace peakline::report
