// Device, host and managed memory, and queries about pointers.

#include <algorithm>

#include "driver/driver_state.h"
#include "model/base/log.h"
#include "model/streams/graph_memory.h"

using simgpu::Allocation;
using simgpu::MemoryKind;
using simgpu::Streams;

namespace {

constexpr size_t kPitchStepBytes = 512;

void* address_of(uintptr_t address) {
    return reinterpret_cast<void*>(address);
}

CUmemorytype memory_type(const Allocation& allocation) {
    const bool is_host =
        allocation.kind == MemoryKind::kHost || allocation.kind == MemoryKind::kRegisteredHost;
    return is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

bool is_host_accessible(const Allocation& allocation) {
    return memory_type(allocation) == CU_MEMORYTYPE_HOST || allocation.kind == MemoryKind::kManaged;
}

// Attributes that are also defined for an address outside all allocations.
CUresult attribute_of_unknown(void* value, CUpointer_attribute attribute) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            *static_cast<int*>(value) = 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(value) = -2;
            return CUDA_ERROR_INVALID_VALUE;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned*>(value) = 0;
            return CUDA_ERROR_INVALID_VALUE;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult attribute_of(const Allocation& allocation,
                      uintptr_t address,
                      CUpointer_attribute attribute,
                      void* value) {
    simgpu::World& world = simgpu::World::instance();
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            *static_cast<void**>(value) = world.device(allocation.device).primary_context();
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned*>(value) = memory_type(allocation);
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *static_cast<uintptr_t*>(value) = address;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *static_cast<uintptr_t*>(value) = is_host_accessible(allocation) ? address : 0;
            return is_host_accessible(allocation) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            *static_cast<int*>(value) = 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            *static_cast<unsigned long long*>(value) = allocation.id;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<int*>(value) = allocation.kind == MemoryKind::kManaged ? 1 : 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(value) = allocation.device;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<uintptr_t*>(value) = allocation.start;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<size_t*>(value) = allocation.requested_bytes;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MAPPED:
            *static_cast<int*>(value) = 1;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            *static_cast<unsigned long long*>(value) = 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            *static_cast<unsigned*>(value) = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            *static_cast<void**>(value) = allocation.pool;
            return CUDA_SUCCESS;
        default:
            simgpu::report_not_modelled("cuPointerGetAttribute of this attribute",
                                        "CUDA_ERROR_NOT_SUPPORTED");
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

}  // namespace

SIMGPU_API CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    SIMGPU_SESSION(session)
    const simgpu::Device& device = session.device();
    if (total_bytes != nullptr) {
        *total_bytes = device.capacity_bytes();
    }
    if (free_bytes != nullptr) {
        *free_bytes = device.capacity_bytes() - device.used_by_all_bytes();
    }
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(address != nullptr);
    if (const CUresult result = Streams::instance().check_unsafe_call(); result != CUDA_SUCCESS) {
        return result;
    }
    uintptr_t start = 0;
    const CUresult result = session.world.allocate_device(session.context->device, bytes, &start);
    simgpu::log_message(2, "cuMemAlloc %zu: %p", bytes, address_of(start));
    *address = start;
    return result;
}

SIMGPU_API CUresult cuMemAllocPitch_v2(
    CUdeviceptr* address, size_t* pitch_bytes, size_t width_bytes, size_t height, unsigned) {
    SIMGPU_REQUIRE(pitch_bytes != nullptr);
    *pitch_bytes = simgpu::round_up(width_bytes, kPitchStepBytes);
    return cuMemAlloc_v2(address, *pitch_bytes * height);
}

SIMGPU_API CUresult cuMemFree_v2(CUdeviceptr address) {
    SIMGPU_SESSION(session)
    if (address == 0) {
        return CUDA_SUCCESS;
    }
    if (const CUresult result = Streams::instance().check_unsafe_call(); result != CUDA_SUCCESS) {
        return result;
    }
    simgpu::log_message(2, "cuMemFree %p", address_of(address));
    if (simgpu::GraphMemory::instance().owns(address)) {
        return simgpu::GraphMemory::instance().free(address);
    }
    return session.world.free(address,
                              {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kManaged});
}

SIMGPU_API CUresult cuMemHostAlloc(void** start, size_t bytes, unsigned flags) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(start != nullptr);
    if (const CUresult result = Streams::instance().check_unsafe_call(); result != CUDA_SUCCESS) {
        return result;
    }
    return session.world.allocate_host(
        bytes, MemoryKind::kHost, session.context->device, flags, start);
}

SIMGPU_API CUresult cuMemAllocHost_v2(void** start, size_t bytes) {
    return cuMemHostAlloc(start, bytes, 0);
}

SIMGPU_API CUresult cuMemFreeHost(void* start) {
    SIMGPU_SESSION(session)
    return session.world.free(reinterpret_cast<uintptr_t>(start), {MemoryKind::kHost});
}

// Managed memory is host memory here: it takes no physical memory of a device.
SIMGPU_API CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(address != nullptr);
    void* start = nullptr;
    const CUresult result = session.world.allocate_host(
        bytes, MemoryKind::kManaged, session.context->device, flags, &start);
    *address = reinterpret_cast<uintptr_t>(start);
    return result;
}

SIMGPU_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* start, unsigned) {
    SIMGPU_SESSION(session)
    const auto host_address = reinterpret_cast<uintptr_t>(start);
    SIMGPU_REQUIRE(address != nullptr && session.world.find(host_address) != nullptr);
    *address = host_address;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemHostGetFlags(unsigned* flags, void* start) {
    SIMGPU_SESSION(session)
    const Allocation* const allocation = session.world.find(reinterpret_cast<uintptr_t>(start));
    SIMGPU_REQUIRE(flags != nullptr && allocation != nullptr && is_host_accessible(*allocation));
    *flags = allocation->flags;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemHostRegister_v2(void* start, size_t bytes, unsigned flags) {
    SIMGPU_SESSION(session)
    return session.world.register_host(start, bytes, session.context->device, flags);
}

SIMGPU_API CUresult cuMemHostUnregister(void* start) {
    SIMGPU_SESSION(session)
    return session.world.unregister_host(start);
}

SIMGPU_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* start,
                                            size_t* bytes,
                                            CUdeviceptr address) {
    SIMGPU_SESSION(session)
    const Allocation* const allocation = session.world.find(address);
    if (allocation == nullptr) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (start != nullptr) {
        *start = allocation->start;
    }
    if (bytes != nullptr) {
        *bytes = allocation->requested_bytes;
    }
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuPointerGetAttribute(void* value,
                                          CUpointer_attribute attribute,
                                          CUdeviceptr address) {
    simgpu::World& world = simgpu::World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(value != nullptr);
    const Allocation* const allocation = world.find(address);
    if (allocation == nullptr) {
        return attribute_of_unknown(value, attribute);
    }
    return attribute_of(*allocation, address, attribute, value);
}

// Documented: an address outside all allocations gives null values and success.
SIMGPU_API CUresult cuPointerGetAttributes(unsigned count,
                                           CUpointer_attribute* attributes,
                                           void** values,
                                           CUdeviceptr address) {
    simgpu::World& world = simgpu::World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(attributes != nullptr && values != nullptr);
    const Allocation* const allocation = world.find(address);
    for (unsigned index = 0; index < count; ++index) {
        if (allocation == nullptr) {
            attribute_of_unknown(values[index], attributes[index]);
        } else {
            attribute_of(*allocation, address, attributes[index], values[index]);
        }
    }
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuPointerSetAttribute(const void*, CUpointer_attribute attribute, CUdeviceptr) {
    SIMGPU_INITIALIZED()
    // Memory operations on this device are always synchronous.
    return attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Hints: they move no memory that this model counts.
SIMGPU_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned, CUstream) {
    SIMGPU_INITIALIZED()
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemAdvise_v2(CUdeviceptr, size_t, CUmem_advise, CUmemLocation) {
    SIMGPU_INITIALIZED()
    return CUDA_SUCCESS;
}
