// The table of device profiles (compiled in from profiles.json and calibration.json) and the choice
// among them that PEAKLINE_SIM_DEVICE makes: NAME[xCOUNT][:CAPACITY], for example h200, h200x8,
// h200x2:24GiB. Read once, by the world when it is made.
#pragma once

#include <cstddef>

namespace simgpu {

struct DeviceProfile {
    const char* key;   // what the user types
    const char* name;  // what the driver reports
    size_t capacity_bytes;
    size_t context_bytes;
    size_t first_launch_bytes;
    size_t cublas_handle_bytes;
    size_t cudnn_handle_bytes;
    size_t nccl_communicator_bytes;
    size_t shared_per_multiprocessor_bytes;
    size_t shared_per_block_optin_bytes;
    size_t l2_bytes;
    int compute_major;
    int compute_minor;
    int multiprocessors;
    int threads_per_multiprocessor;
    int blocks_per_multiprocessor;
    int memory_bus_bits;
    int memory_clock_khz;
    int clock_khz;
};

// What a real device holds besides what a program asks for: calibration.json. The environment may
// set others, PEAKLINE_SIM_CONSTANTS="context_bytes=1048576,cublas_handle_bytes=0".
enum class Constant {
    kContext,
    kFirstLaunch,
    kCublasHandle,
    kCudnnHandle,
    kNcclCommunicator,
    kOtherProcesses,  // what they hold of each device; of the environment only
};
size_t constant(Constant which, const DeviceProfile& profile);

struct DeviceSelection {
    const DeviceProfile* profile = nullptr;  // null: the choice was not understood
    int device_count = 0;
    size_t capacity_bytes = 0;
};

// Complains on stderr and selects nothing when the text names no profile.
DeviceSelection select_devices(const char* text);

}  // namespace simgpu
