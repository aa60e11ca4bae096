// Names of torch's operators as its schemas spell them. torch's C++ symbols join the name and the
// overload with `_`, which also occurs in names.
#pragma once

#include <string>
#include <string_view>

namespace peakline::report {

// Returns "aten::add_.Tensor" for "add__Tensor", the name of a structure in at::_ops.
std::string schema_name(std::string_view structure);

// Returns the same for "at::_ops::add__Tensor::call(at::Tensor&, ...)"; empty for any other
// function.
std::string operator_of_symbol(std::string_view demangled);

}  // namespace peakline::report
