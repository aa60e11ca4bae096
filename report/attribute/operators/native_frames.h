// The native part of a stack: selects the meaningful frames, and formats them.
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

// Whether the frame belongs to the Python interpreter. The frames outward of it are Python's calls,
// which the Python stack shows better.
bool is_interpreter(StackLookup& stacks, uint32_t frame);

// Shortens a demangled function: no return type, no arguments, no long template arguments:
// "vision::ops::roi_align" for "vision::ops::(anonymous namespace)::roi_align(at::Tensor const&)".
// A lambda becomes its enclosing function.
std::string short_function(std::string function);

// The name of a function of an extension or the program, "my::scale (libmine.so)". Empty for
// torch's, Python's, CUDA's and the system's functions, and for one without a name here.
std::string own_function(StackLookup& stacks, uint32_t frame);

// The frames up to the first one of the interpreter, innermost first; all when no Python runs.
std::vector<Location> native_locations(StackLookup& stacks, const Context& context);

// The frame that reports show for a native stack: the innermost one of the program's own code, else
// that of the operator that allocated, else the innermost one. nullopt: there is no native stack.
std::optional<Location> chosen_native_location(StackLookup& stacks, const Context& context);

}  // namespace peakline::report
