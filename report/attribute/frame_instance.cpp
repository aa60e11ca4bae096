#include "frame_instance.h"

namespace peakline::report {
namespace {

bool calls_operator(const Definitions& definitions, const PythonFrame& frame) {
    constexpr std::string_view kCaller = "/torch/_ops.py";
    const std::string_view file = definitions.text(frame.file);
    return file.size() >= kCaller.size() && file.substr(file.size() - kCaller.size()) == kCaller;
}

}  // namespace

uint32_t module_of_frame(const Definitions& definitions, const PythonFrame& frame) {
    return frame.instance != 0 && !calls_operator(definitions, frame) ? frame.instance : 0;
}

std::string_view operator_of_frame(const Definitions& definitions, const PythonFrame& frame) {
    return frame.instance != 0 && calls_operator(definitions, frame)
               ? definitions.text(definitions.instance(frame.instance).path)
               : std::string_view();
}

}  // namespace peakline::report
