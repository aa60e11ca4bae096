// The object in the first local variable of a frame: a module of torch, or an operator that Python
// called through torch.ops. The recorder has one kind of instance; the frame's file shows the kind.
#pragma once

#include <cstdint>
#include <string_view>

#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// The module that runs this method; 0: none.
uint32_t module_of_frame(const Definitions& definitions, const PythonFrame& frame);

// Whether the frame is torch.ops calling an operator.
bool is_operator_call(const Definitions& definitions, const PythonFrame& frame);

// Returns "mylib::scaled" or "aten::add.Tensor" if the frame is a call of torch.ops. Empty: it is
// not, or recording ended before the name was reported.
std::string_view operator_of_frame(const Definitions& definitions, const PythonFrame& frame);

}  // namespace peakline::report
