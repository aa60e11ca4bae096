// NVML (libnvidia-ml.so.1): devices, their names and their memory. No wheel has its header, so the
// few public types are declared here. Power, clocks and temperature are not modelled.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda.h>

#include "model/base/support.h"

namespace {

enum NvmlReturn {
    kNvmlSuccess = 0,
    kNvmlInvalidArgument = 2,
    kNvmlNotSupported = 3,
    kNvmlNotFound = 6,
    kNvmlInsufficientSize = 7,
};

struct NvmlMemory {
    unsigned long long total_bytes;
    unsigned long long free_bytes;
    unsigned long long used_bytes;
};

struct NvmlMemoryV2 {
    unsigned version;
    unsigned long long total_bytes;
    unsigned long long reserved_bytes;
    unsigned long long free_bytes;
    unsigned long long used_bytes;
};

struct NvmlUtilization {
    unsigned gpu_percent;
    unsigned memory_percent;
};

struct NvmlProcess {
    unsigned process_id;
    unsigned long long used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
};

// The members at the beginning of every version of the record.
struct NvmlFabric {
    unsigned version;
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique_id;
    unsigned char state;
};

struct NvmlPci {
    char legacy_bus_id[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_id;
    unsigned subsystem_id;
    char bus_id[32];
};

// A device handle is its ordinal, plus one so that it is never null.
int to_ordinal(const void* handle) {
    return static_cast<int>(reinterpret_cast<intptr_t>(handle)) - 1;
}
void* to_handle(int ordinal) {
    return reinterpret_cast<void*>(static_cast<intptr_t>(ordinal) + 1);
}

// No function here may initialise CUDA: a program that counts devices with NVML may still fork
// children that use them.
int device_count() {
    int count = 0;
    peakline_sim_device device{};
    while (peakline_sim_find_device(count, &device) != 0) {
        ++count;
    }
    return count;
}

bool is_device(const void* handle) {
    peakline_sim_device device{};
    return peakline_sim_find_device(to_ordinal(handle), &device) != 0;
}

// For a handle or index that was checked.
peakline_sim_device device_at(int ordinal) {
    peakline_sim_device device{};
    peakline_sim_find_device(ordinal, &device);
    return device;
}

}  // namespace

#define SIMGPU_NVML_REQUIRE(condition) \
    if (!(condition)) {                \
        return kNvmlInvalidArgument;   \
    }

SIMGPU_API int nvmlInit_v2() {
    return kNvmlSuccess;
}

SIMGPU_API int nvmlInit() {
    return kNvmlSuccess;
}

SIMGPU_API int nvmlInitWithFlags(unsigned) {
    return kNvmlSuccess;
}

SIMGPU_API int nvmlShutdown() {
    return kNvmlSuccess;
}

SIMGPU_API const char* nvmlErrorString(int result) {
    switch (result) {
        case kNvmlSuccess:
            return "Success";
        case kNvmlInvalidArgument:
            return "Invalid Argument";
        case kNvmlNotSupported:
            return "Not Supported";
        case kNvmlNotFound:
            return "Not Found";
        default:
            return "Unknown Error";
    }
}

SIMGPU_API int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    SIMGPU_NVML_REQUIRE(text != nullptr)
    std::snprintf(text, length, "simulated");
    return kNvmlSuccess;
}

SIMGPU_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
    return cuDriverGetVersion(version) == CUDA_SUCCESS ? kNvmlSuccess : kNvmlInvalidArgument;
}

SIMGPU_API int nvmlSystemGetCudaDriverVersion(int* version) {
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

SIMGPU_API int nvmlDeviceGetCount_v2(unsigned* count) {
    SIMGPU_NVML_REQUIRE(count != nullptr)
    *count = static_cast<unsigned>(device_count());
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
    SIMGPU_NVML_REQUIRE(handle != nullptr && index < static_cast<unsigned>(device_count()))
    *handle = to_handle(static_cast<int>(index));
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetHandleByIndex(unsigned index, void** handle) {
    return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

SIMGPU_API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** handle) {
    SIMGPU_NVML_REQUIRE(bus_id != nullptr && handle != nullptr)
    unsigned domain = 0;
    unsigned bus = 0;
    // NOLINTNEXTLINE(cert-err34-c): a number that is out of range is no device's.
    SIMGPU_NVML_REQUIRE(std::sscanf(bus_id, "%x:%x", &domain, &bus) == 2)
    for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
        if (device_at(ordinal).pci_bus == static_cast<int>(bus)) {
            *handle = to_handle(ordinal);
            return kNvmlSuccess;
        }
    }
    return kNvmlNotFound;
}

SIMGPU_API int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
    SIMGPU_NVML_REQUIRE(uuid != nullptr && handle != nullptr)
    for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
        if (std::strcmp(device_at(ordinal).uuid, uuid) == 0) {
            *handle = to_handle(ordinal);
            return kNvmlSuccess;
        }
    }
    return kNvmlNotFound;
}

SIMGPU_API int nvmlDeviceGetIndex(void* handle, unsigned* index) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && index != nullptr)
    *index = static_cast<unsigned>(to_ordinal(handle));
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetName(void* handle, char* text, unsigned length) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && text != nullptr)
    std::snprintf(text, length, "%s", device_at(to_ordinal(handle)).name);
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetUUID(void* handle, char* text, unsigned length) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && text != nullptr)
    std::snprintf(text, length, "%s", device_at(to_ordinal(handle)).uuid);
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetPciInfo_v3(void* handle, NvmlPci* pci) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && pci != nullptr)
    std::memset(pci, 0, sizeof *pci);
    pci->bus = static_cast<unsigned>(device_at(to_ordinal(handle)).pci_bus);
    std::snprintf(pci->legacy_bus_id, sizeof pci->legacy_bus_id, "0000:%02X:00.0", pci->bus);
    std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && major != nullptr && minor != nullptr)
    *major = device_at(to_ordinal(handle)).compute_major;
    *minor = device_at(to_ordinal(handle)).compute_minor;
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetMemoryInfo(void* handle, NvmlMemory* memory) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && memory != nullptr)
    size_t used_bytes = 0;
    size_t capacity_bytes = 0;
    peakline_sim_device_memory(to_ordinal(handle), &used_bytes, &capacity_bytes);
    *memory = {capacity_bytes, capacity_bytes - used_bytes, used_bytes};
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetMemoryInfo_v2(void* handle, NvmlMemoryV2* memory) {
    NvmlMemory plain{};
    SIMGPU_NVML_REQUIRE(memory != nullptr)
    const int result = nvmlDeviceGetMemoryInfo(handle, &plain);
    memory->total_bytes = plain.total_bytes;
    memory->reserved_bytes = 0;
    memory->free_bytes = plain.free_bytes;
    memory->used_bytes = plain.used_bytes;
    return result;
}

SIMGPU_API int nvmlDeviceGetUtilizationRates(void* handle, NvmlUtilization* utilization) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && utilization != nullptr)
    *utilization = {0, 0};
    return kNvmlSuccess;
}

// Lists the processes of peakline_sim_processes().
SIMGPU_API int nvmlDeviceGetComputeRunningProcesses_v3(void* handle,
                                                       unsigned* count,
                                                       NvmlProcess* processes) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && count != nullptr)
    const int index = to_ordinal(handle);
    std::vector<peakline_sim_process> all(
        static_cast<size_t>(peakline_sim_processes(index, nullptr, 0)));
    // Fewer when one has ended meanwhile.
    const int present = peakline_sim_processes(index, all.data(), static_cast<int>(all.size()));
    all.resize(std::min(all.size(), static_cast<size_t>(present)));
    if (*count < all.size()) {
        *count = static_cast<unsigned>(all.size());
        return kNvmlInsufficientSize;
    }
    *count = static_cast<unsigned>(all.size());
    for (size_t i = 0; i < all.size() && processes != nullptr; ++i) {
        processes[i] = {static_cast<unsigned>(all[i].pid), all[i].bytes, 0xffffffffu, 0xffffffffu};
    }
    return kNvmlSuccess;
}

// Records of the first version lack the two instance numbers.
SIMGPU_API int nvmlDeviceGetComputeRunningProcesses(void* handle,
                                                    unsigned* count,
                                                    void* processes) {
    constexpr size_t kFirstVersionBytes = 16;
    SIMGPU_NVML_REQUIRE(count != nullptr)
    std::vector<NvmlProcess> all(*count);
    const int result = nvmlDeviceGetComputeRunningProcesses_v3(handle, count, all.data());
    for (unsigned i = 0; result == kNvmlSuccess && processes != nullptr && i < *count; ++i) {
        std::memcpy(
            static_cast<char*>(processes) + i * kFirstVersionBytes, &all[i], kFirstVersionBytes);
    }
    return result;
}

// Simulated devices have no NVLink and no fabric.
SIMGPU_API int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, unsigned*) {
    return kNvmlNotSupported;
}

SIMGPU_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, NvmlPci*) {
    return kNvmlNotSupported;
}

SIMGPU_API int nvmlDeviceGetGpuFabricInfoV(void* handle, NvmlFabric* fabric) {
    SIMGPU_NVML_REQUIRE(is_device(handle) && fabric != nullptr)
    const unsigned version = fabric->version;
    std::memset(fabric, 0, sizeof *fabric);  // state 0: not supported
    fabric->version = version;
    return kNvmlSuccess;
}

SIMGPU_API int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
    SIMGPU_NVML_REQUIRE(status != nullptr)
    constexpr int kPeerStatusOk = 0;
    *status = kPeerStatusOk;
    return kNvmlSuccess;
}
