// --by op: the operator that allocated the block, see operator_search.h. Else the running autograd
// node; else the name from the Python stack: generated code, a custom operator, a part of torch's
// own Python; else the allocation itself, if the program called it. --by raw-op: the innermost
// operator of any kind.
#include <algorithm>
#include <string>
#include <string_view>

#include <fnmatch.h>

#include "report/attribute/grouping.h"
#include "report/attribute/operators/native_frames.h"
#include "report/attribute/operators/operator_search.h"
#include "report/attribute/stacks/frame_instance.h"
#include "report/attribute/stacks/frame_policy.h"
#include "report/symbols/frame_names.h"
#include "report/trace/definitions/compiled_code.h"

namespace peakline::report {
namespace {

// A name from the Python stack for a block without an operator. `inner` adds the function outside
// of torch that the matching frame called.
struct PythonRule {
    const char* file;
    const char* function;
    const char* text;
    bool inner;
};

constexpr PythonRule kPythonRules[] = {
    {"*/torch/nn/parallel/distributed.py", "*", "DDP", false},
    {"*/torch/_inductor/cudagraph_trees.py",
     "_allocate_and_copy_recording_inputs",
     "copy of an input for a CUDA graph",
     false},
    {"*/triton/*", "get_empty_cache_for_benchmark", "Triton autotuning", false},
    {"*/triton/*", "allocate_scratch", "Triton scratch", false},
    // Operators without a recorded name: C++ called them, or the program was killed.
    {"*/torch/_library/custom_ops.py", "*", "custom operator ", true},
    {"*/torch/_library/triton.py", "*", "custom operator ", true},
    {"*/torch/_ops.py", "__call__", "custom operator ", true},
};

// Both versions of FSDP allocate in functions with several purposes: their callers show the
// purpose.
std::string fsdp_part(const Definitions& definitions, uint32_t node) {
    std::string part;
    for (; node != 0; node = definitions.python_nodes[node].parent) {
        const Location at = location_of(definitions, definitions.python_nodes[node].frame);
        if (fnmatch("*/torch/distributed/fsdp/*", at.file.c_str(), 0) != 0) {
            break;
        }
        if (fnmatch("*reduce*", at.function.c_str(), 0) == 0) {
            return "FSDP reduce-scatter";
        }
        const bool gathers = fnmatch("*gather*", at.function.c_str(), 0) == 0 ||
                             fnmatch("*unshard*", at.function.c_str(), 0) == 0;
        part = gathers ? "FSDP all-gather" : part.empty() ? "FSDP" : part;
    }
    return part;
}

std::string short_location(const Location& location) {
    return std::string(file_name_of(location.file)) + ":" + std::to_string(location.line) + " (" +
           location.function + ")";
}

// Whether this function of a generated file only calls C++ code, which has no lines of the model
// (cpp_wrapper). A dispatch mode can stand between both.
bool calls_cpp_code(const Location& at) {
    return at.function == "g" && is_inductors_file(at.file);
}

// Operators that only look at memory in another way.
constexpr std::string_view kViews[] = {
    "_reshape_alias",
    "_unsafe_view",
    "alias",
    "as_strided",
    "detach",
    "diagonal",
    "expand",
    "permute",
    "reshape",
    "select",
    "slice",
    "split",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unsqueeze",
    "view",
};

// The operators that a kernel of inductor fuses ("aten.view, aten.gelu" as recorded): one as eager
// code names it, or "fused: gelu, mul". Empty if none is known.
std::string fused_name(std::string_view operators) {
    std::string name;
    size_t count = 0;
    while (!operators.empty()) {
        const size_t end = std::min(operators.find(", "), operators.size());
        const std::string_view one = operators.substr(0, end);
        const std::string_view bare = one.substr(one.find('.') + 1);  // npos + 1 is 0
        operators.remove_prefix(std::min(end + 2, operators.size()));
        if (std::find(std::begin(kViews), std::end(kViews), bare) == std::end(kViews)) {
            name += (count == 0 ? "" : ", ") + std::string(bare);
            ++count;
        }
    }
    return count > 1 ? "fused: " + name : count == 1 ? "aten::" + name : "";
}

// Names the operator that inductor calls to fill the buffer, or those that its kernel fuses, or the
// kernel, as far as it was recorded (torch_objects/compiled).
std::string generated_buffer(const Definitions& definitions,
                             const Location& at,
                             std::string_view operators) {
    constexpr std::string_view kCalled = "extern_kernels.";
    const std::string_view kernel =
        definitions.meta_text("inductor:" + at.file + ":" + std::to_string(at.line));
    if (kernel.starts_with(kCalled)) {
        return "aten::" + std::string(kernel.substr(kCalled.size()));
    }
    if (std::string name = fused_name(operators); !name.empty()) {
        return name;
    }
    return kernel.empty() ? "inductor buffer: " + short_location(at) : std::string(kernel);
}

const PythonRule* rule_of(const Location& at, const Location& inner) {
    for (const PythonRule& rule : kPythonRules) {
        if (fnmatch(rule.file, at.file.c_str(), 0) == 0 &&
            fnmatch(rule.function, at.function.c_str(), 0) == 0 &&
            !(rule.inner && inner.file.empty())) {
            return &rule;
        }
    }
    return nullptr;
}

bool is_of_torch(const Location& at) {
    return fnmatch("*/torch/*", at.file.c_str(), 0) == 0;
}

// The inner frame as the caller of `at` sees it, without torch's frames. torch/_library only passes
// calls on.
Location inner_seen_from_above(const Location& at, const Location& inner) {
    if (!is_of_torch(at)) {
        return at;
    }
    return fnmatch("*/torch/_library/*", at.file.c_str(), 0) == 0 ? inner : Location();
}

std::string name_from_python(const Definitions& definitions, uint32_t context_id) {
    uint32_t node = definitions.contexts[context_id].python_node;
    const uint32_t leaf = node;
    Location inner;
    // The operator by its function, until the frame of torch that called it shows its name.
    std::string by_function;
    for (; node != 0; node = definitions.python_nodes[node].parent) {
        const uint32_t frame = definitions.python_nodes[node].frame;
        const Location at = location_of(definitions, frame);
        if (node == leaf && is_inductors_file(at.file) && !calls_cpp_code(at)) {
            return generated_buffer(definitions, at, fused_operators(definitions, context_id));
        }
        if (calls_cpp_code(at)) {
            return "cpp_wrapper";
        }
        if (std::string part = fsdp_part(definitions, node); !part.empty()) {
            return part;
        }
        std::string called(operator_of_frame(definitions, definitions.python_frames[frame]));
        if (!called.empty() && !is_mere_allocation(called)) {
            return called;
        }
        if (!by_function.empty() && !is_of_torch(at)) {
            break;
        }
        const PythonRule* const rule = by_function.empty() ? rule_of(at, inner) : nullptr;
        if (rule != nullptr && !rule->inner) {
            return rule->text;
        }
        by_function = rule != nullptr ? rule->text + inner.qualified_name : by_function;
        inner = inner_seen_from_above(at, inner);
    }
    return by_function;
}

// The location that allocated without an operator: the Python line, else the native function.
std::string innermost_location(StackLookup& stacks, uint32_t context_id) {
    const Definitions& definitions = stacks.definitions();
    const Context& context = definitions.contexts[context_id];
    if (stacks.has_frames(context_id)) {
        const ContinuedStack stack = stacks.stack_of(context_id);
        return location_key(location_of(definitions, stack.frames[stacks.chosen_index(stack)]));
    }
    std::string function = kUnrecordedName;
    visit_native_frames(stacks, context.native_node, [&](uint32_t frame) {
        function = stacks.symbols().name(frame);
        return false;
    });
    return function;
}

// Generated code passes its own buffer for the result: no other operator than the program's.
std::string without_out(std::string name, const Definitions& definitions, uint32_t context_id) {
    constexpr std::string_view kOut = ".out";
    const bool is_generated = line_source(definitions, context_id) != LineSource::kRecorded;
    if (is_generated && name.ends_with(kOut)) {
        name.resize(name.size() - kOut.size());
    }
    return name;
}

std::string reason(StackLookup& stacks, uint32_t context_id) {
    return "no operator: " + innermost_location(stacks, context_id);
}

}  // namespace

std::string operator_of(StackLookup& stacks, uint32_t context_id) {
    const Definitions& definitions = stacks.definitions();
    const Context& context = definitions.contexts[context_id];
    FoundOperators found = find_operators(stacks, context);
    if (!found.allocating.empty()) {
        return without_out(std::move(found.allocating), definitions, context_id);
    }
    // A hook or a function of the user runs below its node: its own Python is more precise.
    std::string name =
        without_out(name_from_python(definitions, context_id), definitions, context_id);
    if (name.empty() && context.python_node == 0) {
        name = definitions.text(context.operator_name);
    }
    if (name.empty() && !found.kernel.empty()) {
        name = "kernel " + found.kernel;
    }
    if (name.empty()) {
        name = found.innermost;
    }
    if (name.empty()) {
        name = definitions.text(context.operator_name);
    }
    return name;
}

BlockRow row_by_op(StackLookup& stacks, const BlockGroup& block) {
    if (is_untraced(stacks, block)) {
        return named_row(kUntracedName);
    }
    const std::string name = operator_of(stacks, block.context);
    return named_row(name.empty() ? reason(stacks, block.context) : name);
}

BlockRow row_by_raw_op(StackLookup& stacks, const BlockGroup& block) {
    if (is_untraced(stacks, block)) {
        return named_row(kUntracedName);
    }
    const Context& context = stacks.definitions().contexts[block.context];
    std::string name = find_operators(stacks, context).innermost;
    if (name.empty()) {
        name = stacks.definitions().text(context.operator_name);
    }
    return named_row(name.empty() ? reason(stacks, block.context) : name);
}

}  // namespace peakline::report
