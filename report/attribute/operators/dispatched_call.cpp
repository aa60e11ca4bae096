#include "dispatched_call.h"

#include "native_frames.h"
#include "report/attribute/stacks/frame_instance.h"

namespace peakline::report {
namespace {

constexpr std::string_view kModesMethod = "__torch_dispatch__";

// Finds the outermost operator call within the innermost mode; 0: there is none.
uint32_t call_in_mode(const Definitions& definitions, uint32_t node) {
    uint32_t call = 0;
    for (; node != 0; node = definitions.python_nodes[node].parent) {
        const PythonFrame& frame = definitions.python_frames[definitions.python_nodes[node].frame];
        if (definitions.text(frame.name) == kModesMethod) {
            return call;
        }
        call = is_operator_call(definitions, frame) ? node : call;
    }
    return 0;
}

uint32_t outermost_below_python(StackLookup& stacks, uint32_t node) {
    const Definitions& definitions = stacks.definitions();
    uint32_t outermost = 0;
    for (; node != 0; node = definitions.native_nodes[node].parent) {
        if (is_interpreter(stacks, definitions.native_nodes[node].frame)) {
            break;
        }
        outermost = node;
    }
    return outermost;
}

}  // namespace

DispatchedCall find_dispatched_call(StackLookup& stacks, const Context& context) {
    const Definitions& definitions = stacks.definitions();
    DispatchedCall call;
    call.python_node = call_in_mode(definitions, context.python_node);
    if (call.python_node == 0) {
        return call;
    }
    if (call.python_node == context.python_node) {
        call.native_node = outermost_below_python(stacks, context.native_node);
    }
    call.name = operator_of_frame(
        definitions, definitions.python_frames[definitions.python_nodes[call.python_node].frame]);
    return call;
}

}  // namespace peakline::report
