// Helpers for names of files and native functions.
#pragma once

#include <string_view>

namespace peakline::report {

// Returns "train.py" for a path; the text itself if it has no folder.
inline std::string_view file_name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// False for "libtorch_cpu.so+0x1234", the text for a function without a symbol here: see
// NativeSymbols::name().
inline bool is_symbol(std::string_view function) {
    return function.find("+0x") == std::string_view::npos;
}

// Whether a function belongs to the CUDA runtime, even if the runtime is linked into a program or
// an extension: there "cudaMalloc" keeps its name, and the functions it calls have names made of
// checksums.
inline bool is_cuda_runtime(std::string_view function) {
    constexpr std::string_view kLinked = "libcudart_static_";
    const bool is_c_name = function.find_first_of(":<( +") == std::string_view::npos;
    return function.substr(0, kLinked.size()) == kLinked ||
           (is_c_name && function.size() > 4 && function.substr(0, 4) == "cuda" &&
            function[4] >= 'A' && function[4] <= 'Z');
}

}  // namespace peakline::report
