#include "operator_search.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "native_frames.h"
#include "operator_names.h"

namespace peakline::report {
namespace {

// Without their overloads.
constexpr std::string_view kMereAllocations[] = {
    "aten::empty",
    "aten::empty_like",
    "aten::empty_permuted",
    "aten::empty_quantized",
    "aten::empty_strided",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::resize",
    "aten::resize_",
    "aten::resize_as_",
};

struct NamedPart {
    const char* prefix;  // of the demangled function
    const char* name;
};

// Parts of torch that are no operators and allocate for a purpose of their own.
constexpr NamedPart kParts[] = {
    {"c10d::Reducer::", "DDP gradient bucket"},
    {"c10d::Logger::", "DDP statistics"},
    {"c10d::ProcessGroup", "c10d collective"},
    {"c10d::symmetric_memory::", "symmetric memory"},
    {"torch::nccl::", "NCCL collective"},
    {"torch::cuda::nccl::", "NCCL collective"},
    {"torch::inductor::AOTI", "AOTInductor"},
    {"inductor_entry_impl", "cpp_wrapper"},
};

// Whether this is torch's Python code for an operator, which the operator's C++ calls.
bool is_kernel_in_python(const Definitions& definitions, uint32_t python_node) {
    const uint32_t frame = definitions.python_nodes[python_node].frame;
    const std::string_view file = definitions.text(definitions.python_frames[frame].file);
    return file.find("/torch/_native/") != std::string_view::npos;
}

// Returns "addmm_out_out" for the function that torch registers for a kernel of the device. Not for
// kernels that only return memory.
std::string kernel_name(std::string_view function) {
    constexpr std::string_view kWrapper = "at::(anonymous namespace)::wrapper_CUDA_";
    if (!function.starts_with(kWrapper) || function.find("empty") != std::string_view::npos) {
        return {};
    }
    function.remove_prefix(kWrapper.size());
    function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
    return std::string(function.substr(0, function.find('(')));
}

std::string part_name(const std::string& function) {
    for (const NamedPart& part : kParts) {
        if (function.starts_with(part.prefix)) {
            return part.name;
        }
    }
    return {};
}

}  // namespace

bool is_mere_allocation(const std::string& operator_name) {
    const std::string_view base =
        std::string_view(operator_name).substr(0, operator_name.find('.'));
    return std::find(std::begin(kMereAllocations), std::end(kMereAllocations), base) !=
           std::end(kMereAllocations);
}

FoundOperators find_operators(StackLookup& stacks, const Context& context) {
    FoundOperators found;
    const bool is_kernel = is_kernel_in_python(stacks.definitions(), context.python_node);
    visit_native_frames(stacks, context.native_node, [&](uint32_t frame) {
        if (is_interpreter(stacks, frame)) {
            return is_kernel;
        }
        const std::string& function = stacks.symbols().name(frame);
        std::string name = operator_of_symbol(function);
        if (!name.empty() && found.innermost.empty()) {
            found.innermost = name;
        }
        if (!name.empty() && is_mere_allocation(name)) {
            return true;
        }
        if (name.empty()) {
            name = part_name(function);
            found.kernel = found.kernel.empty() ? kernel_name(function) : found.kernel;
        }
        if (name.empty()) {
            name = own_function(stacks, frame);
        }
        found.allocating = std::move(name);
        return found.allocating.empty();
    });
    return found;
}

}  // namespace peakline::report
