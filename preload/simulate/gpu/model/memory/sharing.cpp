// Opening takes addresses of the device that has the memory, like the driver.

#include "model/memory/sharing.h"

#include <cerrno>
#include <csignal>

#include <sys/mman.h>
#include <unistd.h>

#include "model/memory/world.h"
#include "model/values/contents.h"

namespace simgpu {
namespace {

bool is_running(int process) {
    return kill(process, 0) == 0 || errno != ESRCH;
}

}  // namespace

SharedMemory& SharedMemory::instance() {
    static auto* const memory = new SharedMemory;
    return *memory;
}

CUresult SharedMemory::describe(uintptr_t address, SharedHandle* handle) const {
    const Allocation* const allocation = World::instance().find(address);
    // Documented: only memory of cuMemAlloc can be shared this way.
    if (allocation == nullptr || allocation->kind != MemoryKind::kDevice) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *handle = {kMemoryMark,
               getpid(),
               allocation->device,
               allocation->id,
               allocation->placement.block_bytes};
    return CUDA_SUCCESS;
}

CUresult SharedMemory::open(const SharedHandle& handle, uintptr_t* start) {
    World& world = World::instance();
    if (handle.mark != kMemoryMark || handle.bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // A process cannot open its own handle.
    if (handle.process == getpid() || !world.has_device(handle.device)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    for (auto& [address, opened] : opened_) {
        if (opened.handle.process == handle.process && opened.handle.id == handle.id) {
            ++opened.open_count;
            *start = address;
            return CUDA_SUCCESS;
        }
    }
    if (!is_running(handle.process)) {
        return CUDA_ERROR_MAP_FAILED;
    }
    const uintptr_t address =
        world.device(handle.device).take_addresses(handle.bytes, kGranuleBytes);
    if (address == 0) {
        return CUDA_ERROR_MAP_FAILED;
    }
    world.add_mapping(address, handle.bytes, handle.device);
    opened_[address] = {handle, 1};
    *start = address;
    return CUDA_SUCCESS;
}

CUresult SharedMemory::close(uintptr_t start) {
    const auto found = opened_.find(start);
    if (found == opened_.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (--found->second.open_count > 0) {
        return CUDA_SUCCESS;
    }
    World& world = World::instance();
    const SharedHandle handle = found->second.handle;
    opened_.erase(found);
    Contents::instance().forget(start, handle.bytes);
    world.remove_mapping(start);
    world.device(handle.device).give_addresses(start, handle.bytes);
    return CUDA_SUCCESS;
}

CUresult SharedMemory::export_block(PhysicalBlock* block, int* file) const {
    const SharedHandle handle = {
        kMemoryMark, getpid(), block->properties.location.id, 0, block->bytes};
    *file = memfd_create("peakline-simgpu-block", MFD_CLOEXEC);
    if (*file < 0 || pwrite(*file, &handle, sizeof handle, 0) != sizeof handle) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult SharedMemory::import_block(int file, PhysicalBlock** block) const {
    SharedHandle handle{};
    if (pread(file, &handle, sizeof handle, 0) != sizeof handle || handle.mark != kMemoryMark) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, handle.device};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return VirtualMemory::instance().adopt(handle.bytes, properties, block);
}

}  // namespace simgpu
