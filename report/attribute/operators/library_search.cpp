#include "library_search.h"

#include <algorithm>
#include <string_view>

#include "native_frames.h"
#include "report/symbols/frame_names.h"

namespace peakline::report {
namespace {

bool passes_on(std::string_view file) {
    for (const std::string_view prefix :
         {"libcudart", "libcuda.so", "libsimgpu", "libpeakline", "libffi", "_ctypes"}) {
        if (file.substr(0, prefix.size()) == prefix) {
            return true;
        }
    }
    return false;
}

// Returns "cupy_backends.cuda.api.runtime" for the file of a Python module, because its file name
// alone means little.
std::string module_of(std::string_view path) {
    constexpr std::string_view kPackages = "-packages/";  // of site-packages and dist-packages
    const size_t begin = path.rfind(kPackages);
    size_t end = path.rfind(".cpython-");
    end = end != std::string_view::npos ? end : path.rfind(".abi3.so");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
        return {};
    }
    std::string name(path.substr(0, end).substr(begin + kPackages.size()));
    std::replace(name.begin(), name.end(), '/', '.');
    return name;
}

std::string library_name(std::string_view path) {
    std::string module = module_of(path);
    return !module.empty() ? module : std::string(file_name_of(path));
}

}  // namespace

std::string requesting_library(StackLookup& stacks, uint32_t context) {
    const Definitions& definitions = stacks.definitions();
    std::string innermost;
    std::string chosen;
    visit_native_frames(stacks, definitions.contexts[context].native_node, [&](uint32_t frame) {
        const std::string& path = stacks.symbols().path(frame);
        const std::string library = library_name(path);
        innermost = innermost.empty() ? library : innermost;
        chosen = passes_on(file_name_of(path)) ? std::string() : library;
        return chosen.empty();
    });
    return !chosen.empty() ? chosen : !innermost.empty() ? innermost : "unknown library";
}

}  // namespace peakline::report
