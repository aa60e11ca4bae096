// Kernels: their registration by the code that nvcc generates, attributes, and launches.
// Registration happens before main and at dlopen, so nothing here may depend on the order of static
// initialisation.

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "model/base/fork_safe_mutex.h"
#include "runtime/runtime_state.h"

using simgpu::finish;
using simgpu::kernel_of;

namespace {

struct LaunchConfiguration {
    dim3 grid;
    dim3 block;
    size_t dynamic_shared_bytes = 0;
    cudaStream_t stream = nullptr;
    void** parameters = nullptr;
};

// The result of __cudaRegisterFatBinary.
struct FatBinary {
    const void* image = nullptr;
    CUmodule module = nullptr;
};

struct Registry {
    simgpu::ForkSafeMutex mutex;
    std::unordered_map<const void*, CUfunction> kernels;  // by host stub. Guarded by mutex.
};

Registry& registry() {
    static auto* const registry = new Registry;
    return *registry;
}

// Pushed by <<<...>>> and popped by the stub, at most a few levels deep. Plain data: kernels may be
// launched while the process exits.
struct PushedConfiguration {
    uint3 grid;
    uint3 block;
    size_t dynamic_shared_bytes;
    cudaStream_t stream;
};
constexpr int kPushDepth = 16;
thread_local PushedConfiguration g_pushed[kPushDepth];
thread_local int g_pushed_count = 0;

bool is_valid(dim3 grid, dim3 block) {
    constexpr unsigned kMaxYZ = 65535;
    constexpr unsigned kMaxX = 0x7fffffff;
    constexpr size_t kMaxThreads = 1024;
    const bool is_empty =
        grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
    const size_t threads = size_t{block.x} * block.y * block.z;
    return !is_empty && threads <= kMaxThreads && block.z <= 64 && grid.y <= kMaxYZ &&
           grid.z <= kMaxYZ && grid.x <= kMaxX;
}

cudaError_t launch(CUfunction kernel, const LaunchConfiguration& shape) {
    SIMGPU_CONTEXT()
    if (kernel == nullptr) {
        return finish(cudaErrorInvalidDeviceFunction);
    }
    if (!is_valid(shape.grid, shape.block)) {
        return finish(cudaErrorInvalidConfiguration);
    }
    const char* name = nullptr;
    const CUresult result = cuLaunchKernel(kernel,
                                           shape.grid.x,
                                           shape.grid.y,
                                           shape.grid.z,
                                           shape.block.x,
                                           shape.block.y,
                                           shape.block.z,
                                           static_cast<unsigned>(shape.dynamic_shared_bytes),
                                           shape.stream,
                                           shape.parameters,
                                           nullptr);
    const bool is_unknown =
        result == CUDA_ERROR_INVALID_HANDLE && cuFuncGetName(&name, kernel) != CUDA_SUCCESS;
    return is_unknown ? finish(cudaErrorInvalidDeviceFunction) : finish(result);
}

}  // namespace

CUfunction simgpu::kernel_of(const void* host_stub) {
    Registry& known = registry();
    const std::lock_guard guard(known.mutex);
    const auto found = known.kernels.find(host_stub);
    if (found != known.kernels.end()) {
        return found->second;
    }
    return static_cast<CUfunction>(const_cast<void*>(host_stub));
}

SIMGPU_API void** __cudaRegisterFatBinary(void* image) {
    return reinterpret_cast<void**>(new FatBinary{image, nullptr});
}

SIMGPU_API void __cudaRegisterFatBinaryEnd(void**) {}

// Kernels stay registered: libraries are unloaded while the process exits and threads still run.
SIMGPU_API void __cudaUnregisterFatBinary(void**) {}

SIMGPU_API char __cudaInitModule(void**) {
    return 1;
}

SIMGPU_API void __cudaRegisterFunction(void** handle,
                                       const char* host_stub,
                                       char*,
                                       const char* name,
                                       int,
                                       uint3*,
                                       uint3*,
                                       dim3*,
                                       dim3*,
                                       int*) {
    auto* const binary = reinterpret_cast<FatBinary*>(handle);
    Registry& known = registry();
    const std::lock_guard guard(known.mutex);
    if (binary->module == nullptr) {
        cuModuleLoadFatBinary(&binary->module, binary->image);
    }
    cuModuleGetFunction(&known.kernels[host_stub], binary->module, name);
}

SIMGPU_API void __cudaRegisterUnifiedTable(void**, void*) {}

SIMGPU_API unsigned __cudaPushCallConfiguration(dim3 grid,
                                                dim3 block,
                                                size_t dynamic_shared_bytes,
                                                cudaStream_t stream) {
    if (g_pushed_count == kPushDepth) {
        return 1;
    }
    g_pushed[g_pushed_count++] = {grid, block, dynamic_shared_bytes, stream};
    return 0;
}

SIMGPU_API cudaError_t __cudaPopCallConfiguration(dim3* grid,
                                                  dim3* block,
                                                  size_t* dynamic_shared_bytes,
                                                  void* stream) {
    if (g_pushed_count == 0) {
        return finish(cudaErrorMissingConfiguration);
    }
    const PushedConfiguration& shape = g_pushed[--g_pushed_count];
    *grid = shape.grid;
    *block = shape.block;
    *dynamic_shared_bytes = shape.dynamic_shared_bytes;
    *static_cast<cudaStream_t*>(stream) = shape.stream;
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaLaunchKernel(const void* host_stub,
                                        dim3 grid,
                                        dim3 block,
                                        void** parameters,
                                        size_t dynamic_shared_bytes,
                                        cudaStream_t stream) {
    return launch(kernel_of(host_stub), {grid, block, dynamic_shared_bytes, stream, parameters});
}

SIMGPU_API cudaError_t cudaLaunchCooperativeKernel(const void* host_stub,
                                                   dim3 grid,
                                                   dim3 block,
                                                   void** parameters,
                                                   size_t dynamic_shared_bytes,
                                                   cudaStream_t stream) {
    return launch(kernel_of(host_stub), {grid, block, dynamic_shared_bytes, stream, parameters});
}

SIMGPU_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                           const void* host_stub,
                                           void** parameters) {
    SIMGPU_REQUIRE_VALUE(config != nullptr)
    return launch(
        kernel_of(host_stub),
        {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, parameters});
}

SIMGPU_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_stub) {
    *kernel = reinterpret_cast<cudaKernel_t>(kernel_of(host_stub));
    return cudaSuccess;
}

SIMGPU_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel,
                                          dim3 grid,
                                          dim3 block,
                                          void** parameters,
                                          size_t dynamic_shared_bytes,
                                          cudaStream_t stream) {
    return launch(reinterpret_cast<CUfunction>(kernel),
                  {grid, block, dynamic_shared_bytes, stream, parameters});
}

SIMGPU_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host_stub) {
    SIMGPU_REQUIRE_VALUE(kernel != nullptr)
    return __cudaGetKernel(kernel, host_stub);
}

SIMGPU_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* host_stub) {
    SIMGPU_REQUIRE_VALUE(function != nullptr)
    *function = kernel_of(host_stub);
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                             const void* host_stub) {
    SIMGPU_CONTEXT()
    SIMGPU_REQUIRE_VALUE(attributes != nullptr)
    std::memset(attributes, 0, sizeof *attributes);
    const CUfunction kernel = kernel_of(host_stub);
    const auto read = [kernel](CUfunction_attribute attribute) {
        int value = 0;
        cuFuncGetAttribute(&value, attribute, kernel);
        return value;
    };
    attributes->maxThreadsPerBlock = read(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    attributes->numRegs = read(CU_FUNC_ATTRIBUTE_NUM_REGS);
    attributes->ptxVersion = read(CU_FUNC_ATTRIBUTE_PTX_VERSION);
    attributes->binaryVersion = read(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    attributes->maxDynamicSharedSizeBytes = read(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    attributes->preferredShmemCarveout = read(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                       cudaFuncAttribute attribute,
                                                       int value,
                                                       int device) {
    SIMGPU_CONTEXT()
    return finish(cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute),
                                       value,
                                       reinterpret_cast<CUkernel>(kernel),
                                       device));
}
