// Finds the loaded torch, and the library built for it.
#pragma once

#include <cstddef>

#include "allocator/torch/torch_part.h"
#include "install.h"

namespace peakline::preload {

// Whether torch's CUDA libraries are loaded.
bool torch_is_loaded();

// Finds the loaded torch: its version ("2.11.0+cu130"), from version.py beside libc10_cuda.so, and
// the build of that library. Returns false when torch's CUDA libraries are not loaded.
bool find_torch(Installed& state);

// Name of the link in the build cache (build_cache.h) to the latest part built for this version and
// build of torch. native_build.py creates it.
void name_of_part(const char* version, const char* build, char* name, size_t room);

// Finds, loads and installs the torch part for the backend in the options. If the part is missing
// or refuses, falls back to observing and puts the reason into state.note. Also observes if CUDA is
// already initialised. *is_late: blocks from before exist, or may exist; the caller must then call
// Recorder::adopt(). Returns false if nothing can be recorded; `message` then has the reason.
bool install_torch_part(Installed& state, bool* is_late, char* message, size_t room);

// Records the blocks of torch's CPU allocator, with autograd nodes and scopes as far as the part
// supports it. state.note lists missing features. Returns false with the reason in `message`.
bool install_cpu(Installed& state, char* message, size_t room);

}  // namespace peakline::preload
