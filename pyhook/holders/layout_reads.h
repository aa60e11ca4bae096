// Reads objects of CPython where the limited API has no function; for object_layout.cpp and
// frame_layout.cpp.
#pragma once

#include <cstdint>
#include <cstring>

#include <dlfcn.h>

#include "object_layout.h"
#include "pyhook/frames/python_layout.h"

namespace peakline::pyhook {

inline uint64_t word_of(const void* object, uint64_t offset) {
    uint64_t word = 0;
    memcpy(&word, static_cast<const char*>(object) + offset, sizeof word);
    return word;
}

// The layout of the running interpreter; nullptr: unknown.
inline const PythonLayout* layout() {
    static const PythonLayout* const known = layout_of(Py_GetVersion());
    return known;
}

// A function that only some versions of CPython export; nullptr if this one does not.
template <class Function>
Function function_named(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace peakline::pyhook
