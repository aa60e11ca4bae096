#include "stack_category.h"

#include <string>
#include <string_view>

namespace peakline::report {
namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Functions between the allocator and its caller.
bool is_allocator(std::string_view name) {
    return name.starts_with("c10::") || name.starts_with("std::") || has(name, "peakline");
}

bool makes_tensor(std::string_view name) {
    return name.starts_with("at::detail::") || has(name, "empty") || has(name, "resize") ||
           has(name, "set_storage") || has(name, "Storage");
}

}  // namespace

Category native_category(StackLookup& stacks, uint32_t native_node) {
    const Definitions& definitions = stacks.definitions();
    bool is_raw = false;
    bool decided = false;
    for (uint32_t node = native_node; node != 0; node = definitions.native_nodes[node].parent) {
        const uint32_t frame = definitions.native_nodes[node].frame;
        if (stacks.symbols().is_recorder(frame)) {
            continue;
        }
        const std::string name = stacks.symbols().name(frame);
        if (name.starts_with("c10d::")) {
            return Category::kCommunication;
        }
        if (decided || is_allocator(name)) {
            continue;
        }
        decided = true;
        is_raw = !makes_tensor(name) &&
                 (name.starts_with("at::cuda::") || name.starts_with("at::native::") ||
                  has(name, "Workspace") || has(name, "workspace"));
    }
    return is_raw ? Category::kWorkspace : Category::kUnknown;
}

bool is_distributed(const Definitions& definitions, uint32_t python_node) {
    for (uint32_t node = python_node; node != 0; node = definitions.python_nodes[node].parent) {
        const PythonFrame& frame = definitions.python_frames[definitions.python_nodes[node].frame];
        const std::string_view file = definitions.text(frame.file);
        if (!has(file, "/torch/_") && !has(file, "/torch/utils/_") &&
            !has(file, "/torch/storage.py")) {
            return has(file, "/torch/distributed/") || has(file, "/torch/nn/parallel/");
        }
    }
    return false;
}

}  // namespace peakline::report
