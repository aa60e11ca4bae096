// The virtual memory management calls, which PyTorch's expandable segments use. ipc.cpp shares
// blocks with other processes.

#include "driver/driver_state.h"
#include "model/base/log.h"
#include "model/memory/virtual_memory.h"

using simgpu::PhysicalBlock;
using simgpu::VirtualMemory;
using simgpu::World;

namespace {

PhysicalBlock* to_block(CUmemGenericAllocationHandle handle) {
    return reinterpret_cast<PhysicalBlock*>(handle);
}

CUmemGenericAllocationHandle to_handle(PhysicalBlock* block) {
    return reinterpret_cast<CUmemGenericAllocationHandle>(block);
}

}  // namespace

SIMGPU_API CUresult cuMemGetAllocationGranularity(size_t* granularity_bytes,
                                                  const CUmemAllocationProp* properties,
                                                  CUmemAllocationGranularity_flags) {
    SIMGPU_REQUIRE(granularity_bytes != nullptr && properties != nullptr);
    *granularity_bytes = simgpu::kGranuleBytes;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemAddressReserve(
    CUdeviceptr* start, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(start != nullptr);
    uintptr_t reserved = 0;
    const CUresult result = VirtualMemory::instance().reserve(bytes, alignment, &reserved);
    simgpu::log_message(2, "cuMemAddressReserve %zu: %#zx", bytes, reserved);
    *start = reserved;
    return result;
}

SIMGPU_API CUresult cuMemAddressFree(CUdeviceptr start, size_t bytes) {
    SIMGPU_INITIALIZED()
    const auto lock = World::instance().lock();
    return VirtualMemory::instance().unreserve(start, bytes);
}

SIMGPU_API CUresult cuMemCreate(CUmemGenericAllocationHandle* handle,
                                size_t bytes,
                                const CUmemAllocationProp* properties,
                                unsigned long long) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(handle != nullptr && properties != nullptr);
    if ((properties->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) != 0) {
        return CUDA_ERROR_NOT_PERMITTED;  // same as a machine without an NVLink fabric
    }
    PhysicalBlock* block = nullptr;
    const CUresult result = VirtualMemory::instance().create(bytes, *properties, &block);
    *handle = to_handle(block);
    return result;
}

SIMGPU_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    SIMGPU_INITIALIZED()
    const auto lock = World::instance().lock();
    return VirtualMemory::instance().release_handle(to_block(handle));
}

SIMGPU_API CUresult cuMemMap(CUdeviceptr start,
                             size_t bytes,
                             size_t offset_bytes,
                             CUmemGenericAllocationHandle handle,
                             unsigned long long) {
    SIMGPU_INITIALIZED()
    const auto lock = World::instance().lock();
    return VirtualMemory::instance().map(start, bytes, offset_bytes, to_block(handle));
}

SIMGPU_API CUresult cuMemUnmap(CUdeviceptr start, size_t bytes) {
    SIMGPU_INITIALIZED()
    const auto lock = World::instance().lock();
    return VirtualMemory::instance().unmap(start, bytes);
}

SIMGPU_API CUresult cuMemSetAccess(CUdeviceptr start,
                                   size_t bytes,
                                   const CUmemAccessDesc* descriptions,
                                   size_t count) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(descriptions != nullptr && count > 0);
    return VirtualMemory::instance().set_access(start, bytes);
}

SIMGPU_API CUresult cuMemGetAccess(unsigned long long* flags,
                                   const CUmemLocation*,
                                   CUdeviceptr address) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(flags != nullptr);
    return VirtualMemory::instance().get_access(address, flags);
}

SIMGPU_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                                void* address) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(handle != nullptr);
    PhysicalBlock* block = nullptr;
    const CUresult result =
        VirtualMemory::instance().retain_mapped(reinterpret_cast<uintptr_t>(address), &block);
    *handle = to_handle(block);
    return result;
}

SIMGPU_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                           CUmemGenericAllocationHandle handle) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(properties != nullptr && VirtualMemory::instance().is_block(to_block(handle)));
    *properties = to_block(handle)->properties;
    return CUDA_SUCCESS;
}
