// The requests of the driver that hold memory of a device, with the addresses they have.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "driver_memory.h"

namespace peakline::report {

struct HeldRequest {
    const DriverRequest* request = nullptr;
    // Address and bytes: one range, or those a physical handle is mapped at.
    std::vector<std::pair<uint64_t, uint64_t>> ranges = {};
};

// Points into `requests`. Parts of pools are among them.
std::vector<HeldRequest> held_requests(const DriverMemory::Requests& requests);

}  // namespace peakline::report
