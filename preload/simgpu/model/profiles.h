// The table of device profiles (compiled in from profiles.json) and the choice among them that
// PEAKLINE_SIM_DEVICE makes: NAME[xCOUNT][:CAPACITY], for example h200, h200x8, h200x2:24GiB.
// Read once, by the world when it is made.
#pragma once

#include <cstddef>

namespace simgpu {

struct DeviceProfile {
    const char* key;   // what the user types
    const char* name;  // what the driver reports
    size_t capacity_bytes;
    size_t context_bytes;
    int compute_major;
    int compute_minor;
    int multiprocessors;
    int threads_per_multiprocessor;
    int blocks_per_multiprocessor;
    size_t shared_per_multiprocessor_bytes;
    size_t shared_per_block_optin_bytes;
    size_t l2_bytes;
    int memory_bus_bits;
    int memory_clock_khz;
    int clock_khz;
};

struct DeviceSelection {
    const DeviceProfile* profile = nullptr;  // null: the choice was not understood
    int device_count = 0;
    size_t capacity_bytes = 0;
};

// Complains on stderr and selects nothing when the text names no profile.
DeviceSelection select_devices(const char* text);

}  // namespace simgpu
