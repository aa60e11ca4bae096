#include "module_names.h"

#include <algorithm>
#include <string_view>

namespace peakline::report {
namespace {

bool is_number(std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string fold_path(const std::string& path, const ModuleFolding& folding) {
    std::string folded;
    uint32_t kept = 0;
    for (size_t begin = 0; begin < path.size();) {
        if (folding.depth != 0 && kept == folding.depth) {
            break;
        }
        const size_t end = std::min(path.find('.', begin), path.size());
        const std::string_view part = std::string_view(path).substr(begin, end - begin);
        folded += folded.empty() ? "" : ".";
        folded += folding.repeated && is_number(part) ? "*" : part;
        begin = end + 1;
        ++kept;
    }
    return folded;
}

bool has_several_models(const Definitions& definitions) {
    uint32_t first = 0;
    for (const Instance& instance : definitions.instances) {
        if (instance.root == 0 || instance.path == 0) {
            continue;
        }
        if (first != 0 && instance.root != first) {
            return true;
        }
        first = instance.root;
    }
    return false;
}

std::string module_path_name(const Definitions& definitions,
                             uint32_t root,
                             const std::string& path,
                             const ModuleFolding& folding,
                             bool with_model) {
    std::string model(definitions.text(root));
    const std::string folded = fold_path(path, folding);
    if (folded.empty()) {
        return model;
    }
    return with_model ? model + "." + folded : folded;
}

std::string module_name(const Definitions& definitions,
                        uint32_t instance,
                        const ModuleFolding& folding,
                        bool with_model) {
    const Instance& known = definitions.instance(instance);
    if (known.root == 0) {
        const std::string_view class_name = definitions.text(known.class_name);
        return (class_name.empty() ? "module" : std::string(class_name)) + " (unnamed)";
    }
    return module_path_name(
        definitions, known.root, std::string(definitions.text(known.path)), folding, with_model);
}

}  // namespace peakline::report
