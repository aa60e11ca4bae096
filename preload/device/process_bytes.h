// Memory of a device by process, from NVML. NVML needs no context. It is queried rarely: the first
// query takes milliseconds.
#pragma once

#include <cstdint>
#include <optional>

namespace peakline::preload {

struct ProcessBytes {
    uint64_t own_bytes;  // 0: this process is not listed, as in a container
    uint64_t other_bytes;
    uint64_t other_count;
};

// kIfLoaded: only if the program has already loaded NVML.
enum class NvmlUse { kIfLoaded, kLoad };

// nullopt: NVML is missing or does not know. Takes the loader's lock.
std::optional<ProcessBytes> process_bytes_slow(uint32_t device, NvmlUse use);

}  // namespace peakline::preload
