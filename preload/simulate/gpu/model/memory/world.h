// All simulated state of this process: devices, allocations, and their one lock. The driver takes
// the lock at every entry and calls nothing foreign while it holds it. Never destroyed: frees still
// arrive while the process exits.
//
// Note [Forked children]
// A real device does not survive a fork. In a child of a process that initialised CUDA every call
// fails with CUDA_ERROR_NOT_INITIALIZED. So it does here, except for calls that register code,
// which libraries make when they are loaded. No call waits for a lock that a thread of the parent
// held. NVML works as before: it needs no CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <cuda.h>

#include "model/devices/device.h"
#include "model/devices/pool.h"

namespace simgpu {

enum class MemoryKind { kDevice, kPool, kMapped, kHost, kRegisteredHost, kManaged };

struct Allocation {
    uintptr_t start = 0;
    size_t requested_bytes = 0;
    MemoryKind kind = MemoryKind::kDevice;
    int device = 0;
    uint64_t id = 0;
    Placement placement;         // device and pool memory
    MemoryPool* pool = nullptr;  // pool memory
    unsigned flags = 0;          // host memory
};

class World {
public:
    static World& instance();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] std::unique_lock<std::mutex> lock();
    // See Note [Forked children]. Any thread; needs no lock.
    static bool is_forked_child();
    // Call when the program has initialised the device. Registering code does not count: libraries
    // do so when they are loaded.
    static void note_use();

    // The devices that this process sees, see visible_devices.h.
    int device_count() const { return static_cast<int>(devices_.size()); }
    // All of them.
    const DeviceSelection& installed() const { return installed_; }
    // Null: there is none of this index, or this process does not see it.
    Device* find_by_index(int index);
    bool has_device(int ordinal) const { return ordinal >= 0 && ordinal < device_count(); }
    Device& device(int ordinal) { return *devices_[static_cast<size_t>(ordinal)]; }
    uint64_t next_id() { return next_id_++; }

    // The caller of all functions below holds the lock.
    CUresult allocate_device(int device, size_t bytes, uintptr_t* start);
    CUresult allocate_host(size_t bytes, MemoryKind kind, int device, unsigned flags, void** start);
    CUresult allocate_from_pool(MemoryPool* pool, size_t bytes, uintptr_t* start);
    CUresult register_host(void* start, size_t bytes, int device, unsigned flags);
    CUresult unregister_host(void* start);
    // kinds: the kinds that this call may free; others give CUDA_ERROR_INVALID_VALUE.
    CUresult free(uintptr_t start, std::initializer_list<MemoryKind> kinds);
    void free_all_of_device(int device);

    void add_mapping(uintptr_t start, size_t bytes, int device);
    void remove_mapping(uintptr_t start) { allocations_.erase(start); }

    // The allocation that contains this address.
    const Allocation* find(uintptr_t address) const;

    // Device addresses, allocated or not. The host must not touch them.
    bool is_device_address(uintptr_t address) const;
    void add_device_addresses(const AddressArena& arena);
    void remove_device_addresses(uintptr_t start) { device_addresses_.erase(start); }

    MemoryPool* default_pool(int device) {
        return default_pools_[static_cast<size_t>(device)].get();
    }
    MemoryPool*& current_pool(int device) { return current_pools_[static_cast<size_t>(device)]; }
    MemoryPool* create_pool(int device);
    bool is_pool(const MemoryPool* pool) const;
    CUresult destroy_pool(MemoryPool* pool);
    // A synchronisation of the device: pools return memory above their threshold.
    void release_pools_of(int device);

private:
    World();

    // After a failed request the pools return all free memory, then the request is tried once more.
    void empty_pools_of(int device);

    DeviceSelection installed_;
    std::vector<std::unique_ptr<Device>> devices_;
    std::map<uintptr_t, Allocation> allocations_;
    std::map<uintptr_t, size_t> device_addresses_;
    std::map<const MemoryPool*, std::unique_ptr<MemoryPool>> pools_;
    std::vector<std::unique_ptr<MemoryPool>> default_pools_;
    std::vector<MemoryPool*> current_pools_;
    uint64_t next_id_ = 1000;
};

}  // namespace simgpu
