// Copies and fills. Copies from host to host are real. Reads from a device give zero, because
// kernels compute nothing. All else has no effect. The world's lock guards every call that takes a
// World.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda.h>

#include "model/memory/world.h"

namespace simgpu {

// CUDA_ERROR_INVALID_VALUE when a device address is not allocated.
CUresult copy_bytes(World& world, uintptr_t to, uintptr_t from, size_t bytes);

struct PitchedSide {
    uintptr_t start = 0;
    size_t pitch_bytes = 0;
};
CUresult copy_rows(World& world, PitchedSide to, PitchedSide from, size_t width_bytes, size_t rows);

// element_bytes: 1, 2 or 4.
CUresult fill_elements(
    World& world, uintptr_t start, unsigned value, size_t element_bytes, size_t element_count);

}  // namespace simgpu
