// Names of torch's operators as its schemas spell them. torch's C++ symbols join the name and the
// overload with `_`, which names contain as well.
#pragma once

#include <string>
#include <string_view>

namespace peakline::report {

// "aten::add_.Tensor" of "add__Tensor", the name of a structure in at::_ops.
std::string schema_name(std::string_view structure);

// The same of "at::_ops::add__Tensor::call(at::Tensor&, ...)"; empty for any other function.
std::string operator_of_symbol(std::string_view demangled);

}  // namespace peakline::report
