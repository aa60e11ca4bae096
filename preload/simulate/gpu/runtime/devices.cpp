// Devices, properties, limits, versions and driver entry points.

#include <cstring>
#include <initializer_list>

#include "runtime/runtime_state.h"

using simgpu::finish;

namespace {

struct AttributeReader {
    int device;
    int operator()(CUdevice_attribute attribute) const {
        int value = 0;
        cuDeviceGetAttribute(&value, attribute, device);
        return value;
    }
    size_t bytes(CUdevice_attribute attribute) const {
        return static_cast<size_t>((*this)(attribute));
    }
};

void fill_limits(cudaDeviceProp* properties, const AttributeReader& read) {
    properties->warpSize = read(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    properties->memPitch = read.bytes(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    properties->regsPerBlock = read(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    properties->regsPerMultiprocessor = read(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    properties->maxThreadsPerBlock = read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    properties->maxThreadsDim[0] = read(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    properties->maxThreadsDim[1] = read(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    properties->maxThreadsDim[2] = read(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    properties->maxGridSize[0] = read(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    properties->maxGridSize[1] = read(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    properties->maxGridSize[2] = read(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    properties->multiProcessorCount = read(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    properties->maxThreadsPerMultiProcessor =
        read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    properties->maxBlocksPerMultiProcessor =
        read(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    properties->textureAlignment = read.bytes(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    properties->texturePitchAlignment = read.bytes(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
    properties->surfaceAlignment = read.bytes(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
}

void fill_memory(cudaDeviceProp* properties, const AttributeReader& read) {
    properties->totalConstMem = read.bytes(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    properties->sharedMemPerBlock = read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    properties->sharedMemPerBlockOptin =
        read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    properties->sharedMemPerMultiprocessor =
        read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    properties->reservedSharedMemPerBlock =
        read.bytes(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    properties->l2CacheSize = read(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    properties->persistingL2CacheMaxSize = read(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
    properties->accessPolicyMaxWindowSize = read(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
    properties->memoryBusWidth = read(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    properties->memoryPoolSupportedHandleTypes =
        static_cast<unsigned>(read(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES));
#if CUDART_VERSION < 13000
    properties->clockRate = read(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    properties->memoryClockRate = read(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    properties->deviceOverlap = 1;
#endif
}

void fill_abilities(cudaDeviceProp* properties, const AttributeReader& read) {
    properties->integrated = read(CU_DEVICE_ATTRIBUTE_INTEGRATED);
    properties->canMapHostMemory = read(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    properties->concurrentKernels = read(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
    properties->ECCEnabled = read(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
    properties->asyncEngineCount = read(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    properties->unifiedAddressing = read(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    properties->streamPrioritiesSupported = read(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
    properties->globalL1CacheSupported = read(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
    properties->localL1CacheSupported = read(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
    properties->managedMemory = read(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    properties->concurrentManagedAccess = read(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    properties->computePreemptionSupported = read(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
    properties->canUseHostPointerForRegisteredMem =
        read(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
    properties->cooperativeLaunch = read(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    properties->hostRegisterSupported = read(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    properties->memoryPoolsSupported = read(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    properties->clusterLaunch = read(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    properties->unifiedFunctionPointers = read(CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS);
}

}  // namespace

SIMGPU_API cudaError_t cudaGetDeviceCount(int* count) {
    SIMGPU_REQUIRE_VALUE(count != nullptr)
    *count = 0;
    if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) {
        return finish(result);
    }
    return finish(cuDeviceGetCount(count));
}

// In CUDA 12 the unversioned name is CUDA 11's shorter structure, which is not modelled.
#if CUDART_VERSION < 13000
#    undef cudaGetDeviceProperties
#    define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#endif
SIMGPU_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    SIMGPU_REQUIRE_VALUE(properties != nullptr)
    if (const cudaError_t error = simgpu::check_device(device); error != cudaSuccess) {
        return finish(error);
    }
    std::memset(properties, 0, sizeof *properties);
    const AttributeReader read{device};
    cuDeviceGetName(properties->name, sizeof properties->name, device);
    cuDeviceGetUuid_v2(reinterpret_cast<CUuuid*>(&properties->uuid), device);
    cuDeviceTotalMem_v2(&properties->totalGlobalMem, device);
    properties->major = read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    properties->minor = read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    properties->pciBusID = read(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    fill_limits(properties, read);
    fill_memory(properties, read);
    fill_abilities(properties, read);
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (const cudaError_t error = simgpu::check_device(device); error != cudaSuccess) {
        return finish(error);
    }
    return finish(cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device));
}

SIMGPU_API cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
    SIMGPU_REQUIRE_VALUE(device != nullptr)
    *device = 0;
    return finish(simgpu::check_device(0));
}

SIMGPU_API cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
    if (const cudaError_t error = simgpu::check_device(device); error != cudaSuccess) {
        return finish(error);
    }
    CUcontext context = nullptr;
    return finish(cuDevicePrimaryCtxRetain(&context, device));
}

SIMGPU_API cudaError_t cudaDeviceReset() {
    const int device = simgpu::chosen_device();
    cuCtxSetCurrent(nullptr);
    return finish(cuDevicePrimaryCtxReset_v2(device));
}

SIMGPU_API cudaError_t cudaSetDeviceFlags(unsigned flags) {
    return finish(cuDevicePrimaryCtxSetFlags_v2(simgpu::chosen_device(), flags));
}

SIMGPU_API cudaError_t cudaRuntimeGetVersion(int* version) {
    SIMGPU_REQUIRE_VALUE(version != nullptr)
    *version = CUDART_VERSION;
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return finish(simgpu::check_device(peer));
}

SIMGPU_API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return finish(simgpu::check_device(peer));
}

SIMGPU_API cudaError_t cudaGetDriverEntryPointByVersion(const char* name,
                                                        void** function,
                                                        unsigned version,
                                                        unsigned long long flags,
                                                        cudaDriverEntryPointQueryResult* status) {
    const cuuint64_t driver_flags = flags == cudaEnablePerThreadDefaultStream
                                        ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                        : CU_GET_PROC_ADDRESS_DEFAULT;
    return finish(cuGetProcAddress_v2(name,
                                      function,
                                      static_cast<int>(version),
                                      driver_flags,
                                      reinterpret_cast<CUdriverProcAddressQueryResult*>(status)));
}

// The headers of CUDA 13 do not declare it, but its library exports it.
SIMGPU_API cudaError_t cudaGetDriverEntryPoint(const char* name,
                                               void** function,
                                               unsigned long long flags,
                                               cudaDriverEntryPointQueryResult* status) {
    return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, status);
}

SIMGPU_API cudaError_t cudaProfilerStart() {
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaProfilerStop() {
    return cudaSuccess;
}
