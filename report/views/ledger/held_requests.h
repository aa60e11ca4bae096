// The requests to the driver that hold memory of a device, with their addresses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "driver_memory.h"

namespace peakline::report {

struct HeldRequest {
    const DriverRequest* request = nullptr;
    // Address and bytes: one range, or the ranges where a physical handle is mapped.
    std::vector<std::pair<uint64_t, uint64_t>> ranges = {};
};

// The result points into `requests`. Includes parts of pools.
std::vector<HeldRequest> held_requests(const DriverMemory::Requests& requests);

}  // namespace peakline::report
