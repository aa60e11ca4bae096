// --by line: the line of the chosen frame, and the operator that allocated below it. Memory of the
// compiler is no memory of a line: its row names the phase, and the line that caused it.
#include "cause.h"
#include "report/attribute/grouping.h"
#include "report/attribute/via.h"

namespace peakline::report {

BlockRow row_by_line(StackLookup& stacks, const BlockGroup& block) {
    BlockRow row;
    if (row_without_frame(stacks, block, &row)) {
        return row;
    }
    const ContinuedStack stack = stacks.stack_of(block.context);
    const size_t chosen = stacks.chosen_index(stack);
    const Location location = location_of(stacks.definitions(), stack.frames[chosen]);
    row.label.key = location_key(location);
    row.label.frames = {location};
    row.through_forward = stack.is_forward(chosen);
    const Phase phase = stacks.phase_rules().contexts[block.context].phase;
    if (is_compiling(phase) && stacks.choice() != FrameChoice::kLeaf) {
        row.label.prefix = cause_prefix(phase);
        row.label.key = row.label.prefix + row.label.key;
    }
    if (stacks.choice() == FrameChoice::kCaller) {
        row.via = via_of(stacks, block.context, stack, chosen);
        if (const auto caller = stacks.caller_index(stack, chosen)) {
            const Location line = location_of(stacks.definitions(), stack.frames[*caller]);
            row.caller = line.file + ":" + std::to_string(line.line);
        }
    }
    return row;
}

}  // namespace peakline::report
