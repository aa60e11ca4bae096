#include "library_search.h"

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

}  // namespace

std::string asking_library(StackLookup& stacks, uint32_t context) {
    const Definitions& definitions = stacks.definitions();
    std::string innermost;
    std::string chosen;
    visit_native_frames(stacks, definitions.contexts[context].native_node, [&](uint32_t frame) {
        const std::string file(file_name_of(stacks.symbols().path(frame)));
        innermost = innermost.empty() ? file : innermost;
        chosen = passes_on(file) ? std::string() : file;
        return chosen.empty();
    });
    return !chosen.empty() ? chosen : !innermost.empty() ? innermost : "unknown library";
}

}  // namespace peakline::report
