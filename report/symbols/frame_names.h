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

// Whether a function is the CUDA runtime's, also where that is linked into a program or an
// extension: there "cudaMalloc" keeps its name, and what it calls has names that are made of
// checksums.
inline bool is_cuda_runtime(std::string_view function) {
    constexpr std::string_view kLinked = "libcudart_static_";
    const bool is_c_name = function.find_first_of(":<( +") == std::string_view::npos;
    return function.substr(0, kLinked.size()) == kLinked ||
           (is_c_name && function.size() > 4 && function.substr(0, 4) == "cuda" &&
            function[4] >= 'A' && function[4] <= 'Z');
}

}  // namespace peakline::report
