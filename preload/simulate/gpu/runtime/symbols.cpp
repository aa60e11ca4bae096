// Device variables (__device__, __managed__): their registration by the code that nvcc generates,
// and access to them by symbol. Registration happens before main and at dlopen, so nothing here may
// depend on the order of static initialisation.

#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "model/base/fork_safe_mutex.h"
#include "runtime/runtime_state.h"

using simgpu::finish;

namespace {

struct DeviceVariable {
    size_t bytes = 0;
    void* device_pointer = nullptr;
    bool is_managed = false;
};

struct Registry {
    simgpu::ForkSafeMutex mutex;
    std::unordered_map<const void*, DeviceVariable> variables;  // by host shadow. Guarded by mutex.
};

Registry& registry() {
    static auto* const registry = new Registry;
    return *registry;
}

// A variable gets its memory on first access.
cudaError_t find_variable(const void* symbol, DeviceVariable* found) {
    SIMGPU_CONTEXT()
    Registry& known = registry();
    const std::lock_guard guard(known.mutex);
    const auto entry = known.variables.find(symbol);
    if (entry == known.variables.end()) {
        return finish(cudaErrorInvalidSymbol);
    }
    DeviceVariable& variable = entry->second;
    if (variable.device_pointer == nullptr) {
        CUdeviceptr address = 0;
        const CUresult result = cuMemAlloc_v2(&address, variable.bytes);
        if (result != CUDA_SUCCESS) {
            return finish(result);
        }
        variable.device_pointer = reinterpret_cast<void*>(address);
    }
    *found = variable;
    return cudaSuccess;
}

cudaError_t copy_from_symbol(
    void* to, const void* symbol, size_t bytes, size_t offset, cudaStream_t stream) {
    DeviceVariable variable;
    if (const cudaError_t error = find_variable(symbol, &variable); error != cudaSuccess) {
        return error;
    }
    return cudaMemcpyAsync(to,
                           static_cast<const char*>(variable.device_pointer) + offset,
                           bytes,
                           cudaMemcpyDefault,
                           stream);
}

cudaError_t copy_to_symbol(
    const void* symbol, const void* from, size_t bytes, size_t offset, cudaStream_t stream) {
    DeviceVariable variable;
    if (const cudaError_t error = find_variable(symbol, &variable); error != cudaSuccess) {
        return error;
    }
    return cudaMemcpyAsync(static_cast<char*>(variable.device_pointer) + offset,
                           from,
                           bytes,
                           cudaMemcpyDefault,
                           stream);
}

}  // namespace

SIMGPU_API void __cudaRegisterVar(
    void**, char* host_shadow, char*, const char*, int, size_t bytes, int, int) {
    Registry& known = registry();
    const std::lock_guard guard(known.mutex);
    known.variables[host_shadow] = {bytes, nullptr, false};
}

SIMGPU_API void __cudaRegisterManagedVar(
    void**, void** host_shadow, char*, const char*, int, size_t bytes, int, int) {
    void* const memory = std::calloc(1, bytes);
    *host_shadow = memory;
    Registry& known = registry();
    const std::lock_guard guard(known.mutex);
    known.variables[host_shadow] = {bytes, memory, true};
}

SIMGPU_API void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

SIMGPU_API cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
    SIMGPU_REQUIRE_VALUE(pointer != nullptr)
    DeviceVariable variable;
    const cudaError_t error = find_variable(symbol, &variable);
    *pointer = variable.device_pointer;
    return error;
}

SIMGPU_API cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
    SIMGPU_REQUIRE_VALUE(bytes != nullptr)
    DeviceVariable variable;
    const cudaError_t error = find_variable(symbol, &variable);
    *bytes = variable.bytes;
    return error;
}

SIMGPU_API cudaError_t cudaMemcpyToSymbol(
    const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind) {
    return copy_to_symbol(symbol, from, bytes, offset, nullptr);
}

SIMGPU_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol,
                                               const void* from,
                                               size_t bytes,
                                               size_t offset,
                                               cudaMemcpyKind,
                                               cudaStream_t stream) {
    return copy_to_symbol(symbol, from, bytes, offset, stream);
}

SIMGPU_API cudaError_t
cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind) {
    return copy_from_symbol(to, symbol, bytes, offset, nullptr);
}

SIMGPU_API cudaError_t cudaMemcpyFromSymbolAsync(void* to,
                                                 const void* symbol,
                                                 size_t bytes,
                                                 size_t offset,
                                                 cudaMemcpyKind,
                                                 cudaStream_t stream) {
    return copy_from_symbol(to, symbol, bytes, offset, stream);
}
