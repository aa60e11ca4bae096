// A stream-ordered memory pool (cudaMallocAsync). It keeps spans of device memory until a
// synchronisation finds more reserved than the release threshold. Work completes at once here, so a
// freed block is free at once, and streams never wait for each other's blocks. Not thread-safe: the
// world's lock guards every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "model/devices/device.h"

namespace simgpu {

// Growth step of a pool. Inferred from the reserved sizes that programs report; undocumented.
inline constexpr size_t kPoolSpanBytes = 32u << 20;

class MemoryPool {
public:
    explicit MemoryPool(Device* device) : device_(device) {}
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    CUresult allocate(size_t bytes, Placement* placement);
    void release(const Placement& placement);

    // Returns wholly free spans to the device while more than keep_bytes are reserved.
    void trim(size_t keep_bytes);
    // Called by a synchronisation.
    void release_above_threshold() { trim(release_threshold_bytes); }

    Device* device() const { return device_; }
    size_t used_bytes() const { return used_bytes_; }
    size_t reserved_bytes() const { return reserved_bytes_; }

    uint64_t release_threshold_bytes = 0;
    // High-water marks; the program may reset them to the present value.
    size_t used_high_bytes = 0;
    size_t reserved_high_bytes = 0;
    int reuse_flags[3] = {1, 1, 1};
    size_t max_bytes = 0;  // 0: no limit

private:
    CUresult add_span(size_t bytes);

    Device* const device_;
    std::map<uintptr_t, size_t> spans_;
    FreeRanges free_;
    size_t used_bytes_ = 0;
    size_t reserved_bytes_ = 0;
};

}  // namespace simgpu
