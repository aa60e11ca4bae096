// The recorder's own queries to the CUDA driver. They never create a context, and they do nothing
// while the driver is not loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace peakline::preload {

struct DeviceBytes {
    uint64_t free_bytes;
    uint64_t total_bytes;
};
struct AddressRange {
    uint64_t start;
    uint64_t bytes;
};
struct PoolBytes {
    uint64_t reserved_bytes;
    uint64_t used_bytes;
};

// Finds the driver's functions; takes the loader's lock. Later calls do nothing.
void find_driver_api_slow();

// These read the current context of this thread. Without a context they return nothing.
std::optional<uint32_t> current_device();
uint64_t current_context();  // 0: none
std::optional<DeviceBytes> device_bytes();
// The allocation that contains the address.
std::optional<AddressRange> address_range(uint64_t address);

uint64_t current_pool(uint32_t device);  // 0: none
std::optional<PoolBytes> pool_bytes(uint64_t pool);
// Memory held by the graphs of a device.
std::optional<PoolBytes> graph_bytes(uint32_t device);
bool is_capturing(uint64_t stream);
// Whether the device has a primary context; true when the driver cannot report it.
bool has_primary_context(uint32_t device);

// PCI address of the device, by which NVML identifies it. CUDA may number devices in another order.
bool pci_bus_of(uint32_t device, char* text, size_t room);

// While it lives, this thread may make calls that a capture on another stream forbids.
class CaptureAllowance {
public:
    CaptureAllowance();
    ~CaptureAllowance();
    CaptureAllowance(const CaptureAllowance&) = delete;
    CaptureAllowance& operator=(const CaptureAllowance&) = delete;

private:
    int mode_ = 0;
};

}  // namespace peakline::preload
