// Modules, libraries and their kernels. Images are neither read nor run: a kernel is a name with
// typical attributes. Launches are in launches.cpp, second names of functions in
// generate/forwards.py.

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "driver/driver_state.h"
#include "driver/kernels.h"
#include "model/base/log.h"

using simgpu::is_kernel;
using simgpu::Kernel;
using simgpu::Module;
using simgpu::to_kernel;
using simgpu::to_module;

namespace {

constexpr size_t kAssumedGlobalBytes = 4096;

// Guarded by the world's lock.
std::unordered_set<const void*>& known_kernels() {
    static auto* const known = new std::unordered_set<const void*>;
    return *known;
}

template <typename Handle>
CUresult load(Handle* handle, const void* image) {
    SIMGPU_REQUIRE(handle != nullptr && image != nullptr);
    const auto lock = simgpu::World::instance().lock();
    auto* const module = new Module;
    const simgpu::Context* const context = simgpu::current_context();
    module->device = context == nullptr ? 0 : context->device;
    *handle = reinterpret_cast<Handle>(module);
    return CUDA_SUCCESS;
}

// The architecture that a kernel was compiled for: the newest of those that libraries ship and that
// runs here, such as 8.6 on a device of 8.9. CUB looks for exactly this number among its own.
int code_version(const simgpu::DeviceProfile& profile) {
    constexpr int kShipped[] = {60, 70, 75, 80, 86, 90, 100, 120};
    const int capability = profile.compute_major * 10 + profile.compute_minor;
    const auto* const newer =
        std::upper_bound(std::begin(kShipped), std::end(kShipped), capability);
    return newer == std::begin(kShipped) ? capability : *std::prev(newer);
}

// The newest of CUDA 13.2. Triton asks whether later ones are known, and has another way if not.
constexpr CUfunction_attribute kNewestAttribute =
    CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;

CUresult get_attribute(int* value, CUfunction_attribute attribute, const void* kernel) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(value != nullptr && kernel != nullptr && attribute <= kNewestAttribute);
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = simgpu::kMaxThreadsPerBlock;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = simgpu::kAssumedRegisters;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = code_version(session.device().profile());
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
    SIMGPU_REQUIRE(kernel != nullptr && attribute <= kNewestAttribute);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        const size_t limit_bytes = session.device().profile().shared_per_block_optin_bytes;
        SIMGPU_REQUIRE(value >= 0 && static_cast<size_t>(value) <= limit_bytes);
        to_kernel(kernel)->max_dynamic_shared_bytes = value;
    }
    return CUDA_SUCCESS;
}

}  // namespace

bool simgpu::is_kernel(const void* handle) {
    const auto lock = World::instance().lock();
    return known_kernels().count(handle) != 0;
}

SIMGPU_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    SIMGPU_REQUIRE(mode != nullptr);
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return load(module, image);
}

SIMGPU_API CUresult
cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    return load(module, image);
}

// Unloading a module frees its globals.
SIMGPU_API CUresult cuModuleUnload(CUmodule handle) {
    SIMGPU_REQUIRE(handle != nullptr);
    simgpu::World& world = simgpu::World::instance();
    const auto lock = world.lock();
    Module* const module = to_module(handle);
    for (const auto& [name, start] : module->globals) {
        world.free(start, {simgpu::MemoryKind::kDevice});
    }
    for (const auto& [name, kernel] : module->kernels) {
        known_kernels().erase(kernel.get());
    }
    delete module;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuModuleGetFunction(CUfunction* function,
                                        CUmodule module_handle,
                                        const char* name) {
    SIMGPU_REQUIRE(function != nullptr && module_handle != nullptr && name != nullptr);
    const auto lock = simgpu::World::instance().lock();
    Module* const module = to_module(module_handle);
    std::unique_ptr<Kernel>& kernel = module->kernels[name];
    if (kernel == nullptr) {
        kernel = std::make_unique<Kernel>();
        kernel->name = name;
        kernel->module = module;
        known_kernels().insert(kernel.get());
    }
    *function = reinterpret_cast<CUfunction>(kernel.get());
    return CUDA_SUCCESS;
}

// The image has the size of a global, but is not read: all globals get one small size.
SIMGPU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address,
                                         size_t* bytes,
                                         CUmodule module_handle,
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

SIMGPU_API CUresult cuLibraryLoadData(CUlibrary* library,
                                      const void* code,
                                      CUjit_option*,
                                      void**,
                                      unsigned,
                                      CUlibraryOption*,
                                      void**,
                                      unsigned) {
    return load(library, code);
}

SIMGPU_API CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    SIMGPU_REQUIRE(module != nullptr && library != nullptr);
    *module = reinterpret_cast<CUmodule>(library);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    SIMGPU_REQUIRE(function != nullptr && kernel != nullptr);
    *function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuFuncGetName(const char** name, CUfunction function) {
    SIMGPU_REQUIRE(name != nullptr && function != nullptr);
    if (!is_kernel(function)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
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
