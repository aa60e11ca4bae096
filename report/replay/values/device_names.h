// Names of devices, and the sum of GPUs: see Note [Memory of the host] in
// allocator/record/format/trace_format.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allocator/record/format/trace_format.h"

namespace peakline::report {

// As --device takes it: "0", "pinned", "cpu".
std::string device_word(uint32_t device);
// Within a sentence or a row: "device 0", "pinned", "cpu".
std::string device_name(uint32_t device);
// At the beginning of a line: "Device 0", "Pinned", "CPU".
std::string device_title(uint32_t device);
// The host device of this name; nullopt: no host device has it.
std::optional<uint32_t> host_device(std::string_view word);

// Whether a block of `device` counts for the chosen devices; nullopt: all GPUs.
inline bool is_counted(const std::optional<uint32_t>& chosen, uint32_t device) {
    return chosen.has_value() ? device == *chosen : !format::is_of_host(device);
}

}  // namespace peakline::report
