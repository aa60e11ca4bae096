// How devices are written, and which of them make a sum: see Note [Memory of the host] in
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
// The device of this name; nullopt: it is none of the host.
std::optional<uint32_t> host_device(std::string_view word);

// Whether a block of `device` counts for a question about `asked`; nullopt: about all GPUs.
inline bool is_counted(const std::optional<uint32_t>& asked, uint32_t device) {
    return asked.has_value() ? device == *asked : !format::is_of_host(device);
}

}  // namespace peakline::report
