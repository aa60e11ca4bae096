// What the recorder asks the driver itself. Nothing here makes a context, and nothing is asked
// while the driver is not yet there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace peakline::preload {

struct DeviceBytes {
    uint64_t free_bytes;
    uint64_t total_bytes;
};
struct PoolBytes {
    uint64_t reserved_bytes;
    uint64_t used_bytes;
};

// Finds the functions; takes the loader's lock. Again: nothing.
void find_driver_api_slow();

// Of the current context of this thread; nothing without one.
std::optional<uint32_t> current_device();
uint64_t current_context();  // 0: none
std::optional<DeviceBytes> device_bytes();

uint64_t current_pool(uint32_t device);  // 0: none
std::optional<PoolBytes> pool_bytes(uint64_t pool);
// Of the graphs of a device.
std::optional<PoolBytes> graph_bytes(uint32_t device);
bool is_capturing(uint64_t stream);
// Whether the primary context of a device is there; true when it cannot be asked.
bool has_primary_context(uint32_t device);

// Where the device is, as NVML knows it: CUDA may count devices in another order.
bool pci_bus_of(uint32_t device, char* text, size_t room);

// While it lives this thread may ask the driver what a capture of another stream forbids.
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
