// Allocation, lookup and freeing over all devices and the host.

#include "model/memory/world.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>

#include <pthread.h>
#include <sys/mman.h>

#include "model/base/log.h"
#include "model/devices/visible_devices.h"
#include "model/values/contents.h"

namespace simgpu {
namespace {

constexpr size_t kHostPageBytes = 4096;

std::mutex g_mutex;  // of the world
std::atomic<bool> g_is_used{false};
std::atomic<bool> g_is_forked_child{false};

// Registered when the driver is loaded, before any library that calls it: fork takes locks in
// reverse order, and the runtime holds its own lock while it calls the driver.
[[gnu::constructor]] void watch_forks() {
    pthread_atfork([] { g_mutex.lock(); },
                   [] { g_mutex.unlock(); },
                   [] {
                       g_mutex.unlock();
                       g_is_forked_child.store(g_is_used.load());
                   });
}

}  // namespace

std::unique_lock<std::mutex> World::lock() {
    return std::unique_lock(g_mutex);
}

void World::note_use() {
    // relaxed: the forking thread reads it, and has set it itself or does not depend on the thread
    // that did.
    g_is_used.store(true, std::memory_order_relaxed);
}

bool World::is_forked_child() {
    // relaxed: set before the child has a second thread.
    return g_is_forked_child.load(std::memory_order_relaxed);
}

World& World::instance() {
    static auto* const world = new World;
    return *world;
}

World::World() {
    installed_ = select_devices(std::getenv("PEAKLINE_SIM_DEVICE"));
    for (const int index : visible_devices(installed_.device_count)) {
        const int ordinal = device_count();
        auto device = std::make_unique<Device>(
            ordinal, index, *installed_.profile, installed_.capacity_bytes);
        if (device->arena().bytes == 0) {
            log_message(
                0, "no room in the address space for device %d; is there a ulimit -v?", ordinal);
            break;
        }
        add_device_addresses(device->arena());
        default_pools_.push_back(std::make_unique<MemoryPool>(device.get()));
        current_pools_.push_back(default_pools_.back().get());
        devices_.push_back(std::move(device));
    }
}

Device* World::find_by_index(int index) {
    const auto found = std::find_if(devices_.begin(), devices_.end(), [index](const auto& device) {
        return device->index() == index;
    });
    return found == devices_.end() ? nullptr : found->get();
}

CUresult World::allocate_device(int device_ordinal, size_t bytes, uintptr_t* start) {
    if (bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Device& device = this->device(device_ordinal);
    Placement placement;
    CUresult result = device.place(bytes, &placement);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        empty_pools_of(device_ordinal);
        result = device.place(bytes, &placement);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    Allocation& allocation = allocations_[placement.start];
    allocation.start = placement.start;
    allocation.requested_bytes = bytes;
    allocation.kind = MemoryKind::kDevice;
    allocation.device = device_ordinal;
    allocation.id = next_id();
    allocation.placement = placement;
    *start = placement.start;
    return CUDA_SUCCESS;
}

CUresult World::allocate_from_pool(MemoryPool* pool, size_t bytes, uintptr_t* start) {
    if (bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Placement placement;
    CUresult result = pool->allocate(bytes, &placement);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        empty_pools_of(pool->device()->ordinal());
        result = pool->allocate(bytes, &placement);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    Allocation& allocation = allocations_[placement.start];
    allocation.start = placement.start;
    allocation.requested_bytes = bytes;
    allocation.kind = MemoryKind::kPool;
    allocation.device = pool->device()->ordinal();
    allocation.id = next_id();
    allocation.placement = placement;
    allocation.pool = pool;
    *start = placement.start;
    return CUDA_SUCCESS;
}

CUresult World::allocate_host(
    size_t bytes, MemoryKind kind, int device, unsigned flags, void** start) {
    if (bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    void* memory = mmap(nullptr,
                        round_up(bytes, kHostPageBytes),
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1,
                        0);
    if (memory == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Allocation& allocation = allocations_[reinterpret_cast<uintptr_t>(memory)];
    allocation.start = reinterpret_cast<uintptr_t>(memory);
    allocation.requested_bytes = bytes;
    allocation.kind = kind;
    allocation.device = device;
    allocation.id = next_id();
    allocation.flags = flags;
    *start = memory;
    return CUDA_SUCCESS;
}

CUresult World::register_host(void* start, size_t bytes, int device, unsigned flags) {
    const auto address = reinterpret_cast<uintptr_t>(start);
    if (start == nullptr || bytes == 0 || is_device_address(address)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (find(address) != nullptr || find(address + bytes - 1) != nullptr) {
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    Allocation& allocation = allocations_[address];
    allocation.start = address;
    allocation.requested_bytes = bytes;
    allocation.kind = MemoryKind::kRegisteredHost;
    allocation.device = device;
    allocation.id = next_id();
    allocation.flags = flags;
    return CUDA_SUCCESS;
}

CUresult World::unregister_host(void* start) {
    const auto found = allocations_.find(reinterpret_cast<uintptr_t>(start));
    if (found == allocations_.end() || found->second.kind != MemoryKind::kRegisteredHost) {
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    allocations_.erase(found);
    return CUDA_SUCCESS;
}

CUresult World::free(uintptr_t start, std::initializer_list<MemoryKind> kinds) {
    const auto found = allocations_.find(start);
    if (found == allocations_.end() ||
        std::find(kinds.begin(), kinds.end(), found->second.kind) == kinds.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Allocation allocation = found->second;
    allocations_.erase(found);
    Contents::instance().release(allocation.start, allocation.requested_bytes);
    switch (allocation.kind) {
        case MemoryKind::kDevice:
            device(allocation.device).remove(allocation.placement);
            break;
        case MemoryKind::kPool:
            allocation.pool->release(allocation.placement);
            break;
        case MemoryKind::kHost:
        case MemoryKind::kManaged:
            munmap(reinterpret_cast<void*>(start),
                   round_up(allocation.requested_bytes, kHostPageBytes));
            break;
        case MemoryKind::kMapped:
        case MemoryKind::kRegisteredHost:
            break;
    }
    return CUDA_SUCCESS;
}

void World::free_all_of_device(int device_ordinal) {
    std::vector<uintptr_t> starts;
    for (const auto& [start, allocation] : allocations_) {
        const bool on_device =
            allocation.kind == MemoryKind::kDevice || allocation.kind == MemoryKind::kPool;
        if (on_device && allocation.device == device_ordinal) {
            starts.push_back(start);
        }
    }
    for (const uintptr_t start : starts) {
        free(start, {MemoryKind::kDevice, MemoryKind::kPool});
    }
    empty_pools_of(device_ordinal);
}

void World::add_mapping(uintptr_t start, size_t bytes, int device) {
    Allocation& allocation = allocations_[start];
    allocation.start = start;
    allocation.requested_bytes = bytes;
    allocation.kind = MemoryKind::kMapped;
    allocation.device = device;
    allocation.id = next_id();
}

const Allocation* World::find(uintptr_t address) const {
    const auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) {
        return nullptr;
    }
    const Allocation& allocation = std::prev(after)->second;
    return address < allocation.start + allocation.requested_bytes ? &allocation : nullptr;
}

bool World::is_device_address(uintptr_t address) const {
    const auto after = device_addresses_.upper_bound(address);
    if (after == device_addresses_.begin()) {
        return false;
    }
    const auto range = std::prev(after);
    return address < range->first + range->second;
}

void World::add_device_addresses(const AddressArena& arena) {
    device_addresses_[arena.start] = arena.bytes;
}

MemoryPool* World::create_pool(int device_ordinal) {
    auto pool = std::make_unique<MemoryPool>(&device(device_ordinal));
    MemoryPool* const handle = pool.get();
    pools_[handle] = std::move(pool);
    return handle;
}

bool World::is_pool(const MemoryPool* pool) const {
    const auto is_default = [pool](const auto& candidate) { return candidate.get() == pool; };
    return pools_.count(pool) != 0 ||
           std::any_of(default_pools_.begin(), default_pools_.end(), is_default);
}

CUresult World::destroy_pool(MemoryPool* pool) {
    if (pools_.count(pool) == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // Documented: live allocations stay valid, and the last of them ends the pool. So the pool
    // object stays; only its cached memory is returned now.
    pool->trim(0);
    pool->release_threshold_bytes = 0;
    const int device_ordinal = pool->device()->ordinal();
    if (current_pool(device_ordinal) == pool) {
        current_pool(device_ordinal) = default_pool(device_ordinal);
    }
    return CUDA_SUCCESS;
}

void World::release_pools_of(int device_ordinal) {
    default_pool(device_ordinal)->release_above_threshold();
    for (const auto& [handle, pool] : pools_) {
        if (pool->device()->ordinal() == device_ordinal) {
            pool->release_above_threshold();
        }
    }
}

void World::empty_pools_of(int device_ordinal) {
    default_pool(device_ordinal)->trim(0);
    for (const auto& [handle, pool] : pools_) {
        if (pool->device()->ordinal() == device_ordinal) {
            pool->trim(0);
        }
    }
}

}  // namespace simgpu
