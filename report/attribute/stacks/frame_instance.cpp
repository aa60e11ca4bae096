#include "frame_instance.h"

namespace peakline::report {
namespace {

bool calls_operator(const Definitions& definitions, const PythonFrame& frame) {
    return definitions.text(frame.file).ends_with("/torch/_ops.py");
}

}  // namespace

bool is_operator_call(const Definitions& definitions, const PythonFrame& frame) {
    return definitions.text(frame.name) == "__call__" && calls_operator(definitions, frame);
}

uint32_t module_of_frame(const Definitions& definitions, const PythonFrame& frame) {
    return frame.instance != 0 && !calls_operator(definitions, frame) ? frame.instance : 0;
}

std::string_view operator_of_frame(const Definitions& definitions, const PythonFrame& frame) {
    return frame.instance != 0 && calls_operator(definitions, frame)
               ? definitions.text(definitions.instance(frame.instance).path)
               : std::string_view();
}

}  // namespace peakline::report
