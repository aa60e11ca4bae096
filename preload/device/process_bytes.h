// What processes hold of a device, as NVML says. NVML needs no context and is asked rarely: its
// first question takes milliseconds.
#pragma once

#include <cstdint>
#include <optional>

namespace peakline::preload {

struct ProcessBytes {
    uint64_t own_bytes;  // 0: this process is not listed, as in a container
    uint64_t other_bytes;
    uint64_t other_count;
};

// kIfLoaded: only where the program has loaded NVML already.
enum class NvmlUse { kIfLoaded, kLoad };

// nullopt: NVML is not there, or does not know. Takes the loader's lock.
std::optional<ProcessBytes> process_bytes_slow(uint32_t device, NvmlUse use);

}  // namespace peakline::preload
