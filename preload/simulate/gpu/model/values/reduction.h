// The arithmetic of collectives, for small known values. Element types without arithmetic in C++
// (half precision) are not reduced; their result is unknown.
#pragma once

#include <cstddef>
#include <vector>

#include "model/base/support.h"

namespace simgpu {

struct Reduction {
    int kind = SIMGPU_REDUCE_NONE;
    int element = SIMGPU_ELEMENT_OTHER;
};

// Combines equal-sized contributions. Returns false if this cannot be computed.
bool reduce(const Reduction& reduction,
            const std::vector<const unsigned char*>& contributions,
            size_t bytes,
            unsigned char* result);

}  // namespace simgpu
