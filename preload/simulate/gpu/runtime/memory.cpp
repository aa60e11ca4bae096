// Allocation, pools, copies and fills of the runtime.

#include <cstring>

#include "runtime/runtime_state.h"

using simgpu::address_of;
using simgpu::finish;

namespace {

void* to_pointer(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

cudaError_t give_address(CUresult result, CUdeviceptr address, void** pointer) {
    *pointer = result == CUDA_SUCCESS ? to_pointer(address) : nullptr;
    return finish(result);
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaStream_t stream) {
    SIMGPU_CONTEXT()
    return finish(cuMemcpyAsync(address_of(to), address_of(from), bytes, stream));
}

// The memory type of a copy descriptor for which the driver determines each side.
CUDA_MEMCPY2D unified_copy(void* to, size_t to_pitch, const void* from, size_t from_pitch) {
    CUDA_MEMCPY2D shape{};
    shape.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    shape.dstDevice = address_of(to);
    shape.dstPitch = to_pitch;
    shape.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    shape.srcDevice = address_of(from);
    shape.srcPitch = from_pitch;
    return shape;
}

cudaError_t copy_3d(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    SIMGPU_CONTEXT()
    SIMGPU_REQUIRE_VALUE(parameters != nullptr)
    if (parameters->srcArray != nullptr || parameters->dstArray != nullptr) {
        peakline_sim_not_modelled("copying CUDA arrays", "cudaErrorNotSupported");
        return finish(cudaErrorNotSupported);
    }
    CUDA_MEMCPY3D shape{};
    shape.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    shape.dstDevice = address_of(parameters->dstPtr.ptr);
    shape.dstPitch = parameters->dstPtr.pitch;
    shape.dstHeight = parameters->dstPtr.ysize;
    shape.dstXInBytes = parameters->dstPos.x;
    shape.dstY = parameters->dstPos.y;
    shape.dstZ = parameters->dstPos.z;
    shape.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    shape.srcDevice = address_of(parameters->srcPtr.ptr);
    shape.srcPitch = parameters->srcPtr.pitch;
    shape.srcHeight = parameters->srcPtr.ysize;
    shape.srcXInBytes = parameters->srcPos.x;
    shape.srcY = parameters->srcPos.y;
    shape.srcZ = parameters->srcPos.z;
    shape.WidthInBytes = parameters->extent.width;
    shape.Height = parameters->extent.height;
    shape.Depth = parameters->extent.depth;
    return finish(cuMemcpy3DAsync_v2(&shape, stream));
}

cudaMemoryType memory_type(CUdeviceptr address) {
    unsigned type = 0;
    int is_managed = 0;
    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS) {
        return cudaMemoryTypeUnregistered;
    }
    cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    if (is_managed != 0) {
        return cudaMemoryTypeManaged;
    }
    return type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

}  // namespace

SIMGPU_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    SIMGPU_CONTEXT()
    SIMGPU_REQUIRE_VALUE(pointer != nullptr)
    if (bytes == 0) {
        *pointer = nullptr;
        return cudaSuccess;
    }
    CUdeviceptr address = 0;
    const CUresult result = cuMemAlloc_v2(&address, bytes);
    return give_address(result, address, pointer);
}

SIMGPU_API cudaError_t cudaFree(void* pointer) {
    SIMGPU_CONTEXT()
    return pointer == nullptr ? cudaSuccess : finish(cuMemFree_v2(address_of(pointer)));
}

SIMGPU_API cudaError_t cudaMallocPitch(void** pointer,
                                       size_t* pitch_bytes,
                                       size_t width_bytes,
                                       size_t height) {
    SIMGPU_CONTEXT()
    SIMGPU_REQUIRE_VALUE(pointer != nullptr && pitch_bytes != nullptr)
    constexpr unsigned kElementBytes = 4;
    CUdeviceptr address = 0;
    const CUresult result =
        cuMemAllocPitch_v2(&address, pitch_bytes, width_bytes, height, kElementBytes);
    return give_address(result, address, pointer);
}

SIMGPU_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    SIMGPU_CONTEXT()
    SIMGPU_REQUIRE_VALUE(pointer != nullptr)
    if (bytes == 0) {
        *pointer = nullptr;
        return cudaSuccess;
    }
    return finish(cuMemHostAlloc(pointer, bytes, flags));
}

SIMGPU_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
    return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

SIMGPU_API cudaError_t cudaFreeHost(void* pointer) {
    SIMGPU_CONTEXT()
    return pointer == nullptr ? cudaSuccess : finish(cuMemFreeHost(pointer));
}

SIMGPU_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    SIMGPU_CONTEXT()
    return pointer == nullptr ? cudaSuccess : finish(cuMemFreeAsync(address_of(pointer), stream));
}

SIMGPU_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
    return copy(to, from, bytes, nullptr);
}

SIMGPU_API cudaError_t
cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    return copy(to, from, bytes, stream);
}

SIMGPU_API cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
    return copy(to, from, bytes, nullptr);
}

SIMGPU_API cudaError_t
cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
    return copy(to, from, bytes, stream);
}

SIMGPU_API cudaError_t cudaMemcpy2DAsync(void* to,
                                         size_t to_pitch,
                                         const void* from,
                                         size_t from_pitch,
                                         size_t width_bytes,
                                         size_t height,
                                         cudaMemcpyKind,
                                         cudaStream_t stream) {
    SIMGPU_CONTEXT()
    CUDA_MEMCPY2D shape = unified_copy(to, to_pitch, from, from_pitch);
    shape.WidthInBytes = width_bytes;
    shape.Height = height;
    return finish(cuMemcpy2DAsync_v2(&shape, stream));
}

SIMGPU_API cudaError_t cudaMemcpy2D(void* to,
                                    size_t to_pitch,
                                    const void* from,
                                    size_t from_pitch,
                                    size_t width_bytes,
                                    size_t height,
                                    cudaMemcpyKind kind) {
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width_bytes, height, kind, nullptr);
}

SIMGPU_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
    return copy_3d(parameters, nullptr);
}

SIMGPU_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    return copy_3d(parameters, stream);
}

#if CUDART_VERSION >= 13000
SIMGPU_API cudaError_t cudaMemPrefetchAsync(const void* pointer,
                                            size_t bytes,
                                            cudaMemLocation location,
                                            unsigned flags,
                                            cudaStream_t stream) {
    SIMGPU_CONTEXT()
    CUmemLocation where{};
    std::memcpy(&where, &location, sizeof where);
    return finish(cuMemPrefetchAsync_v2(address_of(pointer), bytes, where, flags, stream));
}

SIMGPU_API cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) {
    return cudaSuccess;
}

#endif

SIMGPU_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                const void* pointer) {
    SIMGPU_REQUIRE_VALUE(attributes != nullptr)
    const CUdeviceptr address = address_of(pointer);
    std::memset(attributes, 0, sizeof *attributes);
    attributes->type = memory_type(address);
    attributes->device = cudaInvalidDeviceId;
    if (attributes->type == cudaMemoryTypeUnregistered) {
        attributes->hostPointer = const_cast<void*>(pointer);
        return cudaSuccess;
    }
    cuPointerGetAttribute(&attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    attributes->devicePointer = const_cast<void*>(pointer);
    if (attributes->type != cudaMemoryTypeDevice) {
        attributes->hostPointer = const_cast<void*>(pointer);
    }
    return cudaSuccess;
}
