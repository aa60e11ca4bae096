// Modules, libraries, kernels, launches and occupancy. Images are neither read nor run: a kernel is
// a name, its attributes are typical ones, and a launch checks its shape and is done.

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "driver/driver_state.h"
#include "model/contents.h"
#include "model/log.h"

namespace {

constexpr int kDefaultDynamicSharedBytes = 48 * 1024;
constexpr int kAssumedRegisters = 32;
constexpr unsigned kMaxThreadsPerBlock = 1024;
constexpr unsigned kMaxGridYZ = 65535;
constexpr size_t kAssumedGlobalBytes = 4096;

struct Module;

struct Kernel {
    std::string name;
    Module* module = nullptr;
    int max_dynamic_shared_bytes = kDefaultDynamicSharedBytes;
};

// A CUmodule and a CUlibrary alike. Guarded by the world's lock.
struct Module {
    std::string origin;
    int device = 0;
    std::map<std::string, std::unique_ptr<Kernel>> kernels;
    std::map<std::string, uintptr_t> globals;
};

Module* to_module(const void* handle) {
    return static_cast<Module*>(const_cast<void*>(handle));
}
Kernel* to_kernel(const void* handle) {
    return static_cast<Kernel*>(const_cast<void*>(handle));
}

template <typename Handle>
CUresult load(Handle* handle, const char* origin, const void* image) {
    SIMGPU_REQUIRE(handle != nullptr && image != nullptr);
    const auto lock = simgpu::World::instance().lock();
    auto* const module = new Module;
    module->origin = origin;
    const simgpu::Context* const context = simgpu::current_context();
    module->device = context == nullptr ? 0 : context->device;
    *handle = reinterpret_cast<Handle>(module);
    return CUDA_SUCCESS;
}

// Globals lose their memory with their module.
CUresult unload(const void* handle) {
    SIMGPU_REQUIRE(handle != nullptr);
    simgpu::World& world = simgpu::World::instance();
    const auto lock = world.lock();
    Module* const module = to_module(handle);
    for (const auto& [name, start] : module->globals) {
        world.free(start, {simgpu::MemoryKind::kDevice});
    }
    delete module;
    return CUDA_SUCCESS;
}

template <typename Handle>
CUresult get_kernel(Handle* handle, const void* module_handle, const char* name) {
    SIMGPU_REQUIRE(handle != nullptr && module_handle != nullptr && name != nullptr);
    const auto lock = simgpu::World::instance().lock();
    Module* const module = to_module(module_handle);
    std::unique_ptr<Kernel>& kernel = module->kernels[name];
    if (kernel == nullptr) {
        kernel = std::make_unique<Kernel>();
        kernel->name = name;
        kernel->module = module;
    }
    *handle = reinterpret_cast<Handle>(kernel.get());
    return CUDA_SUCCESS;
}

// The size of a global is in the image, which is not read: one small size for all of them.
CUresult get_global(CUdeviceptr* address,
                    size_t* bytes,
                    const void* module_handle,
                    const char* name) {
    SIMGPU_REQUIRE(module_handle != nullptr && name != nullptr);
    simgpu::World& world = simgpu::World::instance();
    const auto lock = world.lock();
    uintptr_t& start = to_module(module_handle)->globals[name];
    if (start == 0) {
        const int device = to_module(module_handle)->device;
        const CUresult result = world.allocate_device(device, kAssumedGlobalBytes, &start);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    if (address != nullptr) {
        *address = start;
    }
    if (bytes != nullptr) {
        *bytes = kAssumedGlobalBytes;
    }
    return CUDA_SUCCESS;
}

int compute_capability(const simgpu::DeviceProfile& profile) {
    return profile.compute_major * 10 + profile.compute_minor;
}

CUresult get_attribute(int* value, CUfunction_attribute attribute, const void* kernel) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(value != nullptr && kernel != nullptr);
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = kMaxThreadsPerBlock;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = kAssumedRegisters;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = compute_capability(session.device().profile());
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = to_kernel(kernel)->max_dynamic_shared_bytes;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            *value = -1;
            return CUDA_SUCCESS;
        default:
            *value = 0;
            return CUDA_SUCCESS;
    }
}

CUresult set_attribute(CUfunction_attribute attribute, int value, const void* kernel) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(kernel != nullptr);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        const size_t limit_bytes = session.device().profile().shared_per_block_optin_bytes;
        SIMGPU_REQUIRE(value >= 0 && static_cast<size_t>(value) <= limit_bytes);
        to_kernel(kernel)->max_dynamic_shared_bytes = value;
    }
    return CUDA_SUCCESS;
}

struct LaunchShape {
    unsigned grid[3];
    unsigned block[3];
    unsigned dynamic_shared_bytes;
};

bool is_valid(const LaunchShape& shape) {
    for (int axis = 0; axis < 3; ++axis) {
        if (shape.grid[axis] == 0 || shape.block[axis] == 0) {
            return false;
        }
    }
    const size_t threads = size_t{shape.block[0]} * shape.block[1] * shape.block[2];
    return threads <= kMaxThreadsPerBlock && shape.block[2] <= 64 && shape.grid[1] <= kMaxGridYZ &&
           shape.grid[2] <= kMaxGridYZ && shape.grid[0] <= 0x7fffffffu;
}

void wait_for_collectives(CUstream handle) {
    simgpu::Operations unfinished;
    {
        simgpu::Session session;
        const simgpu::Stream* const stream =
            session.context == nullptr ? nullptr : session.stream(handle);
        if (stream != nullptr && stream->capture == nullptr) {
            unfinished = stream->unfinished;
        }
    }
    simgpu::wait_for(unfinished);
}

// parameters: may be null; see Note [Known contents] in contents_launch.cpp.
CUresult launch(CUfunction function,
                const LaunchShape& shape,
                CUstream stream,
                void* const* parameters) {
    const Kernel* const kernel = to_kernel(function);
    if (kernel == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (simgpu::Contents::computes(kernel->name.c_str())) {
        wait_for_collectives(stream);
    }
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(is_valid(shape));
    SIMGPU_REQUIRE(static_cast<int>(shape.dynamic_shared_bytes) <=
                   kernel->max_dynamic_shared_bytes);
    if (simgpu::log_level() >= 2) {
        simgpu::log_message(2, "launch %s", kernel->name.c_str());
    }
    simgpu::Contents::instance().note_launch(kernel->name.c_str(), parameters);
    simgpu::GraphNode* node = nullptr;
    const CUresult result = simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_KERNEL, &node);
    if (node != nullptr) {
        node->kernel.func = function;
        node->kernel.gridDimX = shape.grid[0];
        node->kernel.gridDimY = shape.grid[1];
        node->kernel.gridDimZ = shape.grid[2];
        node->kernel.blockDimX = shape.block[0];
        node->kernel.blockDimY = shape.block[1];
        node->kernel.blockDimZ = shape.block[2];
        node->kernel.sharedMemBytes = shape.dynamic_shared_bytes;
    }
    return result;
}

// Limited by threads, blocks, shared memory, and the assumed registers.
int blocks_per_multiprocessor(const simgpu::DeviceProfile& profile,
                              int block_threads,
                              size_t shared_bytes) {
    const int warps = (std::max(block_threads, 1) + 31) / 32;
    const int by_threads = profile.threads_per_multiprocessor / (warps * 32);
    const int by_registers = 65536 / (kAssumedRegisters * warps * 32);
    int blocks = std::min({by_threads, by_registers, profile.blocks_per_multiprocessor});
    if (shared_bytes > 0) {
        const size_t by_shared = profile.shared_per_multiprocessor_bytes / (shared_bytes + 1024);
        blocks = std::min(blocks, static_cast<int>(by_shared));
    }
    return blocks;
}

}  // namespace

SIMGPU_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    SIMGPU_REQUIRE(mode != nullptr);
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuModuleLoad(CUmodule* module, const char* file_name) {
    return load(module, "file", file_name);
}

SIMGPU_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return load(module, "image", image);
}

SIMGPU_API CUresult
cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    return load(module, "image", image);
}

SIMGPU_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return load(module, "fat binary", image);
}

SIMGPU_API CUresult cuModuleUnload(CUmodule module) {
    return unload(module);
}

SIMGPU_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return get_kernel(function, module, name);
}

SIMGPU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address,
                                         size_t* bytes,
                                         CUmodule module,
                                         const char* name) {
    return get_global(address, bytes, module, name);
}

SIMGPU_API CUresult cuLibraryLoadData(CUlibrary* library,
                                      const void* code,
                                      CUjit_option*,
                                      void**,
                                      unsigned,
                                      CUlibraryOption*,
                                      void**,
                                      unsigned) {
    return load(library, "image", code);
}

SIMGPU_API CUresult cuLibraryLoadFromFile(CUlibrary* library,
                                          const char* file_name,
                                          CUjit_option*,
                                          void**,
                                          unsigned,
                                          CUlibraryOption*,
                                          void**,
                                          unsigned) {
    return load(library, "file", file_name);
}

SIMGPU_API CUresult cuLibraryUnload(CUlibrary library) {
    return unload(library);
}

SIMGPU_API CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    return get_kernel(kernel, library, name);
}

SIMGPU_API CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    SIMGPU_REQUIRE(module != nullptr && library != nullptr);
    *module = reinterpret_cast<CUmodule>(library);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuLibraryGetGlobal(CUdeviceptr* address,
                                       size_t* bytes,
                                       CUlibrary library,
                                       const char* name) {
    return get_global(address, bytes, library, name);
}

SIMGPU_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    SIMGPU_REQUIRE(function != nullptr && kernel != nullptr);
    *function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuKernelGetName(const char** name, CUkernel kernel) {
    SIMGPU_REQUIRE(name != nullptr && kernel != nullptr);
    *name = to_kernel(kernel)->name.c_str();
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuFuncGetName(const char** name, CUfunction function) {
    SIMGPU_REQUIRE(name != nullptr && function != nullptr);
    *name = to_kernel(function)->name.c_str();
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
    SIMGPU_REQUIRE(module != nullptr && function != nullptr);
    *module = reinterpret_cast<CUmodule>(to_kernel(function)->module);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuFuncGetAttribute(int* value,
                                       CUfunction_attribute attribute,
                                       CUfunction function) {
    return get_attribute(value, attribute, function);
}

SIMGPU_API CUresult cuFuncSetAttribute(CUfunction function,
                                       CUfunction_attribute attribute,
                                       int value) {
    return set_attribute(attribute, value, function);
}

SIMGPU_API CUresult cuKernelGetAttribute(int* value,
                                         CUfunction_attribute attribute,
                                         CUkernel kernel,
                                         CUdevice) {
    return get_attribute(value, attribute, kernel);
}

SIMGPU_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute,
                                         int value,
                                         CUkernel kernel,
                                         CUdevice) {
    return set_attribute(attribute, value, kernel);
}

SIMGPU_API CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) {
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuFuncLoad(CUfunction) {
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction) {
    SIMGPU_REQUIRE(state != nullptr);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuLaunchKernel(CUfunction function,
                                   unsigned grid_x,
                                   unsigned grid_y,
                                   unsigned grid_z,
                                   unsigned block_x,
                                   unsigned block_y,
                                   unsigned block_z,
                                   unsigned dynamic_shared_bytes,
                                   CUstream stream,
                                   void** parameters,
                                   void**) {
    return launch(function,
                  {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared_bytes},
                  stream,
                  parameters);
}

SIMGPU_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config,
                                     CUfunction function,
                                     void** parameters,
                                     void**) {
    SIMGPU_REQUIRE(config != nullptr);
    return launch(function,
                  {{config->gridDimX, config->gridDimY, config->gridDimZ},
                   {config->blockDimX, config->blockDimY, config->blockDimZ},
                   config->sharedMemBytes},
                  config->hStream,
                  parameters);
}

SIMGPU_API CUresult cuLaunchCooperativeKernel(CUfunction function,
                                              unsigned grid_x,
                                              unsigned grid_y,
                                              unsigned grid_z,
                                              unsigned block_x,
                                              unsigned block_y,
                                              unsigned block_z,
                                              unsigned dynamic_shared_bytes,
                                              CUstream stream,
                                              void** parameters) {
    return launch(function,
                  {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared_bytes},
                  stream,
                  parameters);
}

SIMGPU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                CUfunction,
                                                                int block_threads,
                                                                size_t shared_bytes) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(blocks != nullptr && block_threads > 0);
    *blocks = blocks_per_multiprocessor(session.device().profile(), block_threads, shared_bytes);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int block_threads, size_t shared_bytes, unsigned) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, function, block_threads, shared_bytes);
}

SIMGPU_API CUresult cuOccupancyMaxPotentialBlockSize(
    int* grid, int* block_threads, CUfunction, CUoccupancyB2DSize, size_t shared_bytes, int limit) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(grid != nullptr && block_threads != nullptr);
    const simgpu::DeviceProfile& profile = session.device().profile();
    const int most = static_cast<int>(kMaxThreadsPerBlock);
    *block_threads = limit > 0 ? std::min(limit, most) : most;
    *grid =
        profile.multiprocessors * blocks_per_multiprocessor(profile, *block_threads, shared_bytes);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes,
                                                            CUfunction,
                                                            int blocks,
                                                            int) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(bytes != nullptr && blocks > 0);
    const simgpu::DeviceProfile& profile = session.device().profile();
    const size_t share = profile.shared_per_multiprocessor_bytes / static_cast<size_t>(blocks);
    *bytes = std::min(share > 1024 ? share - 1024 : 0, profile.shared_per_block_optin_bytes);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*) {
    SIMGPU_REQUIRE(clusters != nullptr);
    *clusters = 16;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuOccupancyMaxPotentialClusterSize(int* blocks,
                                                       CUfunction,
                                                       const CUlaunchConfig*) {
    SIMGPU_REQUIRE(blocks != nullptr);
    *blocks = 8;  // the portable cluster size
    return CUDA_SUCCESS;
}

// Descriptors that kernels read; no kernel does.
SIMGPU_API CUresult cuTensorMapEncodeTiled(CUtensorMap* map,
                                           CUtensorMapDataType,
                                           cuuint32_t,
                                           void*,
                                           const cuuint64_t*,
                                           const cuuint64_t*,
                                           const cuuint32_t*,
                                           const cuuint32_t*,
                                           CUtensorMapInterleave,
                                           CUtensorMapSwizzle,
                                           CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill) {
    SIMGPU_REQUIRE(map != nullptr);
    *map = {};
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void*) {
    SIMGPU_REQUIRE(map != nullptr);
    return CUDA_SUCCESS;
}
