#include "operator_search.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fnmatch.h>

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
};

// Libraries whose functions are no extensions: torch, Python, CUDA, the system, ourselves.
constexpr const char* kKnownLibraries[] = {
    "libtorch*",   "libc10*",    "libshm*",      "libcaffe2*", "libpeakline*", "libpython*",
    "python[23]*", "libcu*",     "libnv*",       "libnccl*",   "libc.so*",     "libc-*",
    "libstdc++*",  "libgcc_s*",  "libpthread*",  "libm.so*",   "ld-*",         "ld.so*",
    "libgomp*",    "libunwind*", "libpkunwind*", "libdl*",     "[[]vdso[]]",   "libsimgpu*",
    "_ctypes*",    "libffi*",    "_C.cpython*",
};

bool is_extension(const std::string& path) {
    const std::string file = path.substr(path.rfind('/') + 1);
    return file.find(".so") != std::string::npos &&
           std::none_of(std::begin(kKnownLibraries),
                        std::end(kKnownLibraries),
                        [&](const char* glob) { return fnmatch(glob, file.c_str(), 0) == 0; });
}

bool begins_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

// Behind it lies what Python called, which the python stack tells better.
bool is_interpreter(const std::string& function, const std::string& path) {
    return path.empty() || begins_with(function, "_PyEval_") || begins_with(function, "PyEval_");
}

// torch implements some of its operators in Python, and calls that from the operator in C++.
bool is_kernel_in_python(const Definitions& definitions, uint32_t python_node) {
    const uint32_t frame = definitions.python_nodes[python_node].frame;
    const std::string_view file = definitions.text(definitions.python_frames[frame].file);
    return file.find("/torch/_native/") != std::string_view::npos;
}

// "vision::ops::roi_align" of "vision::ops::(anonymous namespace)::roi_align(at::Tensor const&)".
std::string without_arguments(std::string function) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    for (size_t at = function.find(kAnonymous); at != std::string::npos;
         at = function.find(kAnonymous)) {
        function.erase(at, kAnonymous.size());
    }
    return function.substr(0, function.find('('));
}

// "addmm_out_out" of the function that torch registers for a kernel of the device. Not of those
// that give memory only.
std::string kernel_name(std::string_view function) {
    constexpr std::string_view kWrapper = "at::(anonymous namespace)::wrapper_CUDA_";
    if (!begins_with(function, kWrapper) || function.find("empty") != std::string_view::npos) {
        return {};
    }
    function.remove_prefix(kWrapper.size());
    function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
    return std::string(function.substr(0, function.find('(')));
}

std::string part_name(const std::string& function) {
    for (const NamedPart& part : kParts) {
        if (begins_with(function, part.prefix)) {
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
    const Definitions& definitions = stacks.definitions();
    FoundOperators found;
    const bool is_kernel = is_kernel_in_python(definitions, context.python_node);
    for (uint32_t node = context.native_node; node != 0;
         node = definitions.native_nodes[node].parent) {
        const uint32_t frame = definitions.native_nodes[node].frame;
        if (stacks.symbols().is_recorder(frame)) {
            continue;
        }
        const std::string& function = stacks.symbols().name(frame);
        const std::string path(
            definitions.text(definitions.modules[definitions.native_frames[frame].module].path));
        if (is_interpreter(function, path)) {
            if (is_kernel) {
                continue;
            }
            break;
        }
        std::string name = operator_of_symbol(function);
        if (!name.empty() && found.innermost.empty()) {
            found.innermost = name;
        }
        if (!name.empty() && is_mere_allocation(name)) {
            continue;
        }
        if (name.empty()) {
            name = part_name(function);
            found.kernel = found.kernel.empty() ? kernel_name(function) : found.kernel;
        }
        const bool has_name = function.find("+0x") == std::string::npos;
        if (name.empty() && has_name && is_extension(path)) {
            name = without_arguments(function) + " (" + path.substr(path.rfind('/') + 1) + ")";
        }
        if (!name.empty()) {
            found.asking = std::move(name);
            break;
        }
    }
    return found;
}

}  // namespace peakline::report
