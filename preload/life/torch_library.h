// Which torch is loaded, and the library built for it.
#pragma once

#include <cstddef>

#include "allocator/torch/torch_part.h"
#include "install.h"

namespace peakline::preload {

// Whether torch's CUDA libraries are.
bool torch_is_loaded();

// Which torch is loaded: its version ("2.11.0+cu130") from version.py beside libc10_cuda.so, and
// the build of that library. False when torch's CUDA libraries are not loaded.
bool find_torch(Installed& state);

// The name, in the folder of build_cache.h, of the link to the part that was built last for this
// build of a version of torch. native_build.py makes it.
void name_of_part(const char* version, const char* build, char* name, size_t room);

// Finds, loads and installs the torch part for the backend the options name. When the part is
// missing or refuses, falls back to observing and leaves the reason in state.note. Where CUDA is
// initialised already it observes, too. *is_late: there are blocks from before, or nobody can say;
// either way Recorder::adopt() must follow.
// False: nothing can be recorded, the reason is in `message`.
bool install_torch_part(Installed& state, bool* is_late, char* message, size_t room);

// Records the blocks of torch's CPU allocator, with nodes and scopes of autograd as far as the part
// is there; what is missing is left in state.note. False: the reason is in `message`.
bool install_cpu(Installed& state, char* message, size_t room);

}  // namespace peakline::preload
