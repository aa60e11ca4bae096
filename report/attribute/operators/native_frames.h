// The native part of a stack: which of its frames say something, and how they are shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// Calls visit(frame id) for the frames of a native stack from the allocator outward, without those
// of the recorder, until it returns false.
template <typename Visit>
void visit_native_frames(StackLookup& stacks, uint32_t native_node, Visit visit) {
    const Definitions& definitions = stacks.definitions();
    for (; native_node != 0; native_node = definitions.native_nodes[native_node].parent) {
        const uint32_t frame = definitions.native_nodes[native_node].frame;
        if (!stacks.symbols().is_recorder(frame) && !visit(frame)) {
            return;
        }
    }
}

// Whether Python runs here. What lies outward of it is what Python called, which the Python stack
// shows better.
bool is_interpreter(StackLookup& stacks, uint32_t frame);

// A demangled function without what it returns and takes, and without long template arguments:
// "vision::ops::roi_align" of "vision::ops::(anonymous namespace)::roi_align(at::Tensor const&)".
// A lambda is the function it lies in.
std::string short_function(std::string function);

// The name of a function that is an extension's or the program's own, "my::scale (libmine.so)":
// neither torch's, Python's, CUDA's nor the system's. Empty: it is none, or it has no name here.
std::string own_function(StackLookup& stacks, uint32_t frame);

// The frames up to the first one of the interpreter, innermost first; all when no Python runs.
std::vector<Location> native_locations(StackLookup& stacks, const Context& context);

// The frame that stands for a native stack: the innermost one of the program's own code, else the
// operator's that asked for the memory, else the innermost one. Empty: there is no native stack.
std::optional<Location> chosen_native_location(StackLookup& stacks, const Context& context);

}  // namespace peakline::report
