// For files that replace functions of libc: access to the real function, and the modes of fopen.
#pragma once

#include <dlfcn.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace peakline::guard {

template <class Function>
Function real_function(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace peakline::guard

#define REAL(name) peakline::guard::real_function<decltype(&::name)>(#name)
