// Small facts about the names of files and native functions, for all who show or compare them.
#pragma once

#include <string_view>

namespace peakline::report {

// "train.py" of a path; the text itself where it has no folder.
inline std::string_view file_name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// False for what stands for a function that has no symbol here, "libtorch_cpu.so+0x1234": see
// NativeSymbols::name().
inline bool is_symbol(std::string_view function) {
    return function.find("+0x") == std::string_view::npos;
}

}  // namespace peakline::report
