// Functions of libpeakline.so (preload/peakline_api.h), found by name: a simulation may run without
// a recorder.
#pragma once

#include <dlfcn.h>

namespace peakline::simulated {

// nullptr: no recorder is loaded.
template <class Function>
Function* recorder_function(const char* name) {
    void* const library = dlopen("libpeakline.so", RTLD_NOLOAD | RTLD_LAZY);
    return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace peakline::simulated
