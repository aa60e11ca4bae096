// Driver queries about a device: names, memory, attributes. Values that differ between devices come
// from the profile; the others are the same on all devices since compute capability 7.

#include <cstdio>
#include <cstring>

#include "driver/driver_state.h"
#include "model/base/log.h"
#include "model/devices/visible_devices.h"

namespace {

// PCI buses are numbered from here; the bus identifies the device.
constexpr int kFirstPciBus = 0x10;

simgpu::Device& device_at(int ordinal) {
    return simgpu::World::instance().device(ordinal);
}

bool attribute_from_profile(CUdevice_attribute attribute, int ordinal, int* value) {
    const simgpu::DeviceProfile& profile = device_at(ordinal).profile();
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = profile.compute_major;
            return true;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            *value = profile.compute_minor;
            return true;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = profile.multiprocessors;
            return true;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            *value = profile.threads_per_multiprocessor;
            return true;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
            *value = profile.blocks_per_multiprocessor;
            return true;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            *value = static_cast<int>(profile.shared_per_block_optin_bytes);
            return true;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
            *value = static_cast<int>(profile.shared_per_multiprocessor_bytes);
            return true;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            *value = static_cast<int>(profile.l2_bytes);
            return true;
        case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
            *value = profile.compute_major >= 8 ? static_cast<int>(profile.l2_bytes / 8 * 5) : 0;
            return true;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
            *value = profile.clock_khz;
            return true;
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
            *value = profile.memory_clock_khz;
            return true;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
            *value = profile.memory_bus_bits;
            return true;
        case CU_DEVICE_ATTRIBUTE_INTEGRATED:
            *value = profile.is_integrated;
            return true;
        case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
            *value = profile.compute_major >= 8 ? 1024 : 0;
            return true;
        case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
            *value = profile.compute_major >= 9 ? 1 : 0;
            return true;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
            *value = kFirstPciBus + device_at(ordinal).index();
            return true;
        default:
            return false;
    }
}

struct AttributeValue {
    CUdevice_attribute attribute;
    int value;
};
// Multicast, fabric handles and host page tables are not modelled.
constexpr AttributeValue kOfEveryDevice[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 134213632},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 1},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
#if CUDA_VERSION >= 12000
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
#endif
};

bool attribute_of_every_device(CUdevice_attribute attribute, int* value) {
    *value = 0;
    for (const AttributeValue& known : kOfEveryDevice) {
        if (known.attribute == attribute) {
            *value = known.value;
            return true;
        }
    }
    return false;
}

}  // namespace

SIMGPU_API int peakline_sim_find_device(int index, peakline_sim_device* device) {
    const simgpu::DeviceSelection& installed = simgpu::World::instance().installed();
    if (index < 0 || index >= installed.device_count) {
        return 0;
    }
    const simgpu::DeviceProfile& profile = *installed.profile;
    device->name = profile.name;
    std::snprintf(device->uuid, sizeof device->uuid, "%s", simgpu::uuid_text(index).c_str());
    device->pci_bus = kFirstPciBus + index;
    device->compute_major = profile.compute_major;
    device->compute_minor = profile.compute_minor;
    return 1;
}

SIMGPU_API CUresult cuDeviceGetCount(int* count) {
    SIMGPU_REQUIRE(count != nullptr);
    *count = simgpu::World::instance().device_count();
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    SIMGPU_REQUIRE(device != nullptr);
    SIMGPU_REQUIRE_DEVICE(ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    SIMGPU_REQUIRE(name != nullptr && length > 0);
    SIMGPU_REQUIRE_DEVICE(device);
    std::snprintf(name, static_cast<size_t>(length), "%s", device_at(device).profile().name);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    SIMGPU_REQUIRE(uuid != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    unsigned char bytes[sizeof uuid->bytes];
    simgpu::write_uuid(device_at(device).index(), bytes);
    std::memcpy(uuid->bytes, bytes, sizeof bytes);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    SIMGPU_REQUIRE(bytes != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    *bytes = device_at(device).capacity_bytes();
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceGetAttribute(int* value,
                                         CUdevice_attribute attribute,
                                         CUdevice device) {
    SIMGPU_REQUIRE(value != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    if (!attribute_from_profile(attribute, device, value) &&
        !attribute_of_every_device(attribute, value)) {
        simgpu::log_message(2, "device attribute %d: 0", static_cast<int>(attribute));
    }
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    SIMGPU_REQUIRE(major != nullptr && minor != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    *major = device_at(device).profile().compute_major;
    *minor = device_at(device).profile().compute_minor;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    SIMGPU_REQUIRE(text != nullptr && length > 0);
    SIMGPU_REQUIRE_DEVICE(device);
    std::snprintf(text, static_cast<size_t>(length), "0000:%02X:00.0", kFirstPciBus + device);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
    SIMGPU_REQUIRE(device != nullptr && text != nullptr);
    unsigned domain = 0;
    unsigned bus = 0;
    // NOLINTNEXTLINE(cert-err34-c): a number that is out of range is no device's.
    SIMGPU_REQUIRE(std::sscanf(text, "%x:%x", &domain, &bus) == 2);
    const int ordinal = static_cast<int>(bus) - kFirstPciBus;
    SIMGPU_REQUIRE_DEVICE(ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceCanAccessPeer(int* can_access, CUdevice device, CUdevice peer) {
    SIMGPU_REQUIRE(can_access != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    SIMGPU_REQUIRE_DEVICE(peer);
    *can_access = device != peer ? 1 : 0;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceGetP2PAttribute(int* value,
                                            CUdevice_P2PAttribute attribute,
                                            CUdevice device,
                                            CUdevice peer) {
    SIMGPU_REQUIRE(value != nullptr && device != peer);
    SIMGPU_REQUIRE_DEVICE(device);
    SIMGPU_REQUIRE_DEVICE(peer);
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
                     attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
                 ? 1
                 : 0;
    return CUDA_SUCCESS;
}
