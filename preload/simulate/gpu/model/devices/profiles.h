// The table of device profiles (compiled in from profiles.json and calibration.json), and the
// choice by PEAKLINE_SIM_DEVICE: NAME[xCOUNT][:CAPACITY], for example h200, h200x8, h200x2:24GiB,
// or a slice of a GPU (MIG), h100:1g.10gb. Read once, when the world is created.
#pragma once

#include <cstddef>

namespace simgpu {

struct DeviceProfile {
    const char* key;   // name in PEAKLINE_SIM_DEVICE
    const char* name;  // name that the driver reports
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
    int is_integrated;  // 1: shares the memory of the host
};

// Memory of a real device beyond the program's requests, from calibration.json. The environment may
// override it, PEAKLINE_SIM_CONSTANTS="context_bytes=1048576,cublas_handle_bytes=0".
enum class Constant {
    kContext,
    kFirstLaunch,
    kCublasHandle,
    kCudnnHandle,
    kNcclCommunicator,
    kOtherProcesses,  // per device; only from the environment
};
size_t constant(Constant which, const DeviceProfile& profile);

inline constexpr int kMaxDevices = 64;

struct DeviceSelection {
    const DeviceProfile* profile = nullptr;  // null: the choice did not parse
    int device_count = 0;
    size_t capacity_bytes = 0;
};

// Warns on stderr and selects nothing if the text names no profile.
DeviceSelection select_devices(const char* text);

}  // namespace simgpu
