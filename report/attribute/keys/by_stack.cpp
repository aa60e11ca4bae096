// --by stack: the whole Python stack, leaf first, without hidden frames. In the backward pass the
// forward stack follows, see Note [Continued stacks]. With --native the native frames below the
// innermost Python frame come first.
#include <algorithm>
#include <iterator>

#include "report/attribute/grouping.h"
#include "report/attribute/operators/native_frames.h"

namespace peakline::report {
namespace {

std::vector<Location> python_locations(StackLookup& stacks, const ContinuedStack& stack) {
    std::vector<Location> locations;
    for (const uint32_t frame : stacks.shown_frames(stack)) {
        locations.push_back(location_of(stacks.definitions(), frame));
    }
    return locations;
}

}  // namespace

BlockRow row_by_stack(StackLookup& stacks, const BlockGroup& block) {
    BlockRow row;
    const Context& context = stacks.definitions().contexts[block.context];
    std::vector<Location> python;
    if (!row_without_frame(stacks, block, &row)) {
        const ContinuedStack stack = stacks.stack_of(block.context);
        row.through_forward = stack.is_forward(stacks.chosen_index(stack));
        python = python_locations(stacks, stack);
    }
    const bool stands_for_native = !row.label.frames.empty() && row.label.frames.front().is_native;
    std::vector<Location>& frames = row.label.frames;
    frames.clear();
    if (stacks.shows_native() || stands_for_native) {
        frames = native_locations(stacks, context);
    }
    std::move(python.begin(), python.end(), std::back_inserter(frames));
    if (!frames.empty()) {
        row.via.clear();
        // The frames already show this.
        if (row.label.name.starts_with(kNoPythonName)) {
            row.label.name.clear();
        }
        row.label.key = row.label.name;
    }
    for (const Location& frame : frames) {
        row.label.key += location_key(frame) + "\n";
    }
    return row;
}

}  // namespace peakline::report
