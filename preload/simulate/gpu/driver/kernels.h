// Modules and kernels of the driver; modules.cpp creates them, launches.cpp uses them. Images are
// not read: a kernel is a name with typical attributes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace simgpu {

inline constexpr int kDefaultDynamicSharedBytes = 48 * 1024;
inline constexpr int kAssumedRegisters = 32;
inline constexpr int kMaxThreadsPerBlock = 1024;

struct Module;

struct Kernel {
    std::string name;
    Module* module = nullptr;
    int max_dynamic_shared_bytes = kDefaultDynamicSharedBytes;
};

// Serves as CUmodule and CUlibrary. Guarded by the world's lock.
struct Module {
    int device = 0;
    std::map<std::string, std::unique_ptr<Kernel>> kernels;
    std::map<std::string, uintptr_t> globals;
};

inline Module* to_module(const void* handle) {
    return static_cast<Module*>(const_cast<void*>(handle));
}
inline Kernel* to_kernel(const void* handle) {
    return static_cast<Kernel*>(const_cast<void*>(handle));
}

// Programs may pass any pointer as a kernel. Takes the world's lock.
bool is_kernel(const void* handle);

}  // namespace simgpu
