// --by module: the module instance that a block belongs to. It is the module that owns the tensor,
// if the program's objects reported one; else the innermost running module; for memory of the
// autograd engine, the module that ran when the graph node was made. Memory of the compiler belongs
// to no module.
#include "report/attribute/grouping.h"
#include "report/attribute/names/module_names.h"
#include "report/attribute/stacks/frame_instance.h"

namespace peakline::report {
namespace {

struct Owner {
    uint32_t instance = 0;
    bool through_forward = false;
};

Owner owner_of(const StackLookup& stacks, const BlockGroup& block) {
    const Definitions& definitions = stacks.definitions();
    const uint32_t reported = definitions.tensor(block.tensor).instance;
    if (reported != 0) {
        return {reported, false};
    }
    // A module that runs during the backward pass is being recomputed.
    const ContinuedStack stack = stacks.stack_of(block.context);
    for (size_t i = 0; i < stack.frames.size(); ++i) {
        const uint32_t instance =
            module_of_frame(definitions, definitions.python_frames[stack.frames[i]]);
        if (instance != 0) {
            return {instance, stack.is_forward(i)};
        }
    }
    return {};
}

}  // namespace

BlockRow row_by_module(StackLookup& stacks, const BlockGroup& block) {
    const Definitions& definitions = stacks.definitions();
    const Phase phase = stacks.phase_rules().contexts[block.context].phase;
    if (is_compiling(phase) && block.tensor == 0) {
        return named_row(phase_name(phase));
    }
    const Owner owner = owner_of(stacks, block);
    if (owner.instance != 0) {
        BlockRow row = named_row(module_name(
            definitions, owner.instance, stacks.modules(), stacks.has_several_models()));
        row.through_forward = owner.through_forward;
        return row;
    }
    if (is_untraced(stacks, block)) {
        return named_row(kUntracedName);
    }
    if (is_unrecorded(stacks, block)) {
        return named_row(kUnrecordedName);
    }
    return named_row(definitions.is_lost(block.context) ? kLostName : kOutsideModulesName);
}

}  // namespace peakline::report
