// The field `device` of every report.
#pragma once

#include <cstdint>

#include "json_writer.h"

namespace peakline::report {

enum class DeviceScope { kOne, kSum };

constexpr DeviceScope scope_of(bool is_sum) {
    return is_sum ? DeviceScope::kSum : DeviceScope::kOne;
}

// The number of a GPU, the name of a kind of host memory, or "all".
JsonWriter& put_device(JsonWriter& json, uint32_t device, DeviceScope scope = DeviceScope::kOne);

}  // namespace peakline::report
