// Placement and physical accounting of one device.

#include "model/devices/device.h"

#include <algorithm>

#include <sys/mman.h>

#include "model/devices/device_group.h"

namespace simgpu {
namespace {

// Twice the granules, so that addresses never run out before memory does.
constexpr size_t kArenaFactor = 3;

// Note [Where device addresses lie]
// A device takes more address space than all libraries together. If the kernel chooses the address,
// it is below the libraries loaded so far. Libraries loaded later (a compiled kernel, the recorder)
// then lie behind it, hundreds of GB from the code that calls them, and their calls cost more: 96
// ns per event instead of 82, in interleaved measurements. So we request device addresses in an
// empty region, above the heap of programs at fixed addresses and below that of all others. If the
// region is taken, the kernel chooses.
constexpr uintptr_t kLowestAddress = uintptr_t{1} << 40;
constexpr uintptr_t kHighestAddress = uintptr_t{1} << 46;

// The caller holds the lock of the world, or is creating the world.
void* map_addresses(size_t bytes) {
    static uintptr_t next = kLowestAddress;
    if (bytes > kHighestAddress - next) {
        next = kLowestAddress;
    }
    void* start = mmap(reinterpret_cast<void*>(next),
                       bytes,
                       PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1,
                       0);
    next += std::min<uintptr_t>(bytes, kHighestAddress - next);
    return start;
}

}  // namespace

AddressArena reserve_addresses(size_t bytes, size_t alignment) {
    const size_t whole_bytes = bytes + alignment;
    void* start = map_addresses(whole_bytes);
    if (start == MAP_FAILED) {
        return {};
    }
    const auto begin = reinterpret_cast<uintptr_t>(start);
    const uintptr_t aligned = round_up(begin, alignment);
    if (aligned > begin) {
        munmap(start, aligned - begin);
    }
    const uintptr_t tail = aligned + bytes;
    if (begin + whole_bytes > tail) {
        munmap(reinterpret_cast<void*>(tail), begin + whole_bytes - tail);
    }
    return {aligned, bytes};
}

void unreserve_addresses(const AddressArena& arena) {
    munmap(reinterpret_cast<void*>(arena.start), arena.bytes);
}

Device::Device(int ordinal, int index, const DeviceProfile& profile, size_t capacity_bytes)
    : ordinal_(ordinal),
      index_(index),
      profile_(profile),
      capacity_bytes_(capacity_bytes),
      other_bytes_(std::min(constant(Constant::kOtherProcesses, profile), capacity_bytes)) {
    arena_ =
        reserve_addresses(round_up(capacity_bytes * kArenaFactor, kGranuleBytes), kGranuleBytes);
    if (arena_.bytes != 0) {
        free_addresses_.give(arena_.start, arena_.bytes);
    }
    primary_context_ = Context{ordinal, 0, static_cast<uint64_t>(ordinal) + 1, true};
}

CUresult Device::place(size_t bytes, Placement* placement) {
    return bytes < kSmallLimitBytes ? place_small(bytes, placement) : place_large(bytes, placement);
}

CUresult Device::place_large(size_t bytes, Placement* placement) {
    // A request near the top of size_t must not wrap around to a small one.
    if (bytes > capacity_bytes_) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const size_t block_bytes = round_up(bytes, kGranuleBytes);
    if (!charge(block_bytes)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const uintptr_t start = take_addresses(block_bytes, kGranuleBytes);
    if (start == 0) {
        discharge(block_bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *placement = {start, block_bytes, false};
    return CUDA_SUCCESS;
}

CUresult Device::place_small(size_t bytes, Placement* placement) {
    const size_t block_bytes = round_up(bytes, kSmallStepBytes);
    for (auto& [granule, free_blocks] : shared_granules_) {
        if (const uintptr_t start = free_blocks.take(block_bytes, kSmallStepBytes)) {
            *placement = {start, block_bytes, true};
            return CUDA_SUCCESS;
        }
    }
    Placement granule;
    if (const CUresult result = place_large(kGranuleBytes, &granule); result != CUDA_SUCCESS) {
        return result;
    }
    FreeRanges& free_blocks = shared_granules_[granule.start];
    free_blocks.give(granule.start, kGranuleBytes);
    *placement = {free_blocks.take(block_bytes, kSmallStepBytes), block_bytes, true};
    return CUDA_SUCCESS;
}

void Device::remove(const Placement& placement) {
    if (!placement.shares_granule) {
        give_addresses(placement.start, placement.block_bytes);
        discharge(placement.block_bytes);
        return;
    }
    const uintptr_t granule = placement.start / kGranuleBytes * kGranuleBytes;
    FreeRanges& free_blocks = shared_granules_[granule];
    free_blocks.give(placement.start, placement.block_bytes);
    if (free_blocks.contains(granule, kGranuleBytes)) {
        shared_granules_.erase(granule);
        give_addresses(granule, kGranuleBytes);
        discharge(kGranuleBytes);
    }
}

bool Device::charge(size_t bytes) {
    const size_t room = capacity_bytes_ - other_bytes_;
    if (bytes > room - used_bytes_ || !DeviceGroup::instance().take(index_, bytes, room)) {
        return false;
    }
    used_bytes_ += bytes;
    most_used_bytes_.store(std::max(most_used_bytes(), used_bytes_ + other_bytes_),
                           std::memory_order_relaxed);
    return true;
}

void Device::discharge(size_t bytes) {
    used_bytes_ -= bytes;
    DeviceGroup::instance().give(index_, bytes);
}

size_t Device::used_by_all_bytes() const {
    const size_t all = used_bytes_ + other_bytes_ + DeviceGroup::instance().others_bytes(index_);
    return std::min(all, capacity_bytes_);
}

uintptr_t Device::take_addresses(size_t bytes, size_t alignment) {
    return free_addresses_.take(bytes, alignment);
}

void Device::give_addresses(uintptr_t start, size_t bytes) {
    free_addresses_.give(start, bytes);
}

bool Device::create_primary_context() {
    if (!has_primary_context_) {
        has_primary_context_ = charge(constant(Constant::kContext, profile_));
    }
    return has_primary_context_;
}

void Device::destroy_primary_context() {
    if (has_primary_context_) {
        has_primary_context_ = false;
        discharge(constant(Constant::kContext, profile_));
    }
    if (has_loaded_module_) {
        has_loaded_module_ = false;
        discharge(constant(Constant::kFirstLaunch, profile_));
    }
}

bool Device::load_first_module() {
    if (!has_loaded_module_) {
        has_loaded_module_ = charge(constant(Constant::kFirstLaunch, profile_));
    }
    return has_loaded_module_;
}

}  // namespace simgpu
