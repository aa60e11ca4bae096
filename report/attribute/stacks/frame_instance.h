// What the first local variable of a frame is: a module of torch, or an operator that Python called
// through torch.ops. The recorder has one kind of instance; the frame's file shows which it is.
#pragma once

#include <cstdint>
#include <string_view>

#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// The module whose method the frame runs; 0: of none.
uint32_t module_of_frame(const Definitions& definitions, const PythonFrame& frame);

// Whether torch.ops calls an operator there.
bool is_operator_call(const Definitions& definitions, const PythonFrame& frame);

// "mylib::scaled" or "aten::add.Tensor", where the frame is a call of torch.ops. Empty: it is not,
// or the recorder did not live to hear the name.
std::string_view operator_of_frame(const Definitions& definitions, const PythonFrame& frame);

}  // namespace peakline::report
