// One simulated device: its addresses, its physical memory, its context. The physical granule is 2
// MiB; requests below 1 MiB share granules in 512-byte steps. Addresses are reserved without access
// rights, so a host read of device memory faults, as on a real device. Not thread-safe: the world's
// lock guards every call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include <cuda.h>

#include "model/base/ranges.h"
#include "model/devices/profiles.h"

namespace simgpu {

inline constexpr size_t kGranuleBytes = 2u << 20;
inline constexpr size_t kSmallStepBytes = 512;
inline constexpr size_t kSmallLimitBytes = 1u << 20;

struct Context {
    int device = 0;
    unsigned flags = 0;
    uint64_t id = 0;
    bool is_primary = false;
};

// The location of one request and its size.
struct Placement {
    uintptr_t start = 0;
    size_t block_bytes = 0;
    bool shares_granule = false;
};

// The reserved addresses of a device. They have no memory.
struct AddressArena {
    uintptr_t start = 0;
    size_t bytes = 0;
};
AddressArena reserve_addresses(size_t bytes, size_t alignment);
void unreserve_addresses(const AddressArena& arena);

class Device {
public:
    // ordinal: among the visible devices; index: among all, see visible_devices.h.
    Device(int ordinal, int index, const DeviceProfile& profile, size_t capacity_bytes);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    // CUDA_SUCCESS or CUDA_ERROR_OUT_OF_MEMORY.
    CUresult place(size_t bytes, Placement* placement);
    void remove(const Placement& placement);

    // Physical memory in whole granules, also for pools and mapped memory.
    bool charge(size_t bytes);
    void discharge(size_t bytes);

    // These manage addresses only.
    uintptr_t take_addresses(size_t bytes, size_t alignment);
    void give_addresses(uintptr_t start, size_t bytes);

    // The first use of a device creates its context, which takes memory of its own.
    bool create_primary_context();
    void destroy_primary_context();
    // The first launch loads code and takes local memory. Returns false when out of memory.
    bool load_first_module();

    int ordinal() const { return ordinal_; }
    int index() const { return index_; }
    const DeviceProfile& profile() const { return profile_; }
    size_t capacity_bytes() const { return capacity_bytes_; }
    size_t used_bytes() const { return used_bytes_; }
    // With those of processes that are not simulated (`other_processes_bytes`) and of the group,
    // see device_group.h.
    size_t used_by_all_bytes() const;
    size_t most_used_bytes() const { return most_used_bytes_.load(std::memory_order_relaxed); }
    const AddressArena& arena() const { return arena_; }
    bool has_primary_context() const { return has_primary_context_; }
    Context* primary_context() { return &primary_context_; }

private:
    CUresult place_small(size_t bytes, Placement* placement);
    CUresult place_large(size_t bytes, Placement* placement);

    const int ordinal_;
    const int index_;
    const DeviceProfile& profile_;
    const size_t capacity_bytes_;
    const size_t other_bytes_;  // `other_processes_bytes`
    size_t used_bytes_ = 0;
    // Peak so far. Written under the world's lock. Read without it when the process ends, perhaps
    // in a signal handler of the thread that holds the lock. relaxed: no other data depends on it.
    std::atomic<size_t> most_used_bytes_{0};
    AddressArena arena_;
    FreeRanges free_addresses_;
    std::map<uintptr_t, FreeRanges> shared_granules_;  // by start
    Context primary_context_;
    bool has_primary_context_ = false;
    bool has_loaded_module_ = false;
};

}  // namespace simgpu
