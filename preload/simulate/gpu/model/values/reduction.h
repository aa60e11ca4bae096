// The arithmetic of collectives, for the small values that are known. Element types that C++ has
// no arithmetic for (half precision) are not reduced: the result is then not known.
#pragma once

#include <cstddef>
#include <vector>

#include "model/base/support.h"

namespace simgpu {

struct Reduction {
    int kind = SIMGPU_REDUCE_NONE;
    int element = SIMGPU_ELEMENT_OTHER;
};

// Combines equal-sized contributions. False when this cannot be computed.
bool reduce(const Reduction& reduction,
            const std::vector<const unsigned char*>& contributions,
            size_t bytes,
            unsigned char* result);

}  // namespace simgpu
