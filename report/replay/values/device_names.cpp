#include "device_names.h"

namespace peakline::report {
namespace {

constexpr struct {
    uint32_t device;
    const char* word;
    const char* title;
} kHostDevices[] = {
    {format::kPinnedDevice, "pinned", "Pinned"},
    {format::kCpuDevice, "cpu", "CPU"},
};

}  // namespace

std::string device_word(uint32_t device) {
    for (const auto& row : kHostDevices) {
        if (row.device == device) {
            return row.word;
        }
    }
    return std::to_string(device);
}

std::string device_name(uint32_t device) {
    return (format::is_of_host(device) ? "" : "device ") + device_word(device);
}

std::string device_title(uint32_t device) {
    for (const auto& row : kHostDevices) {
        if (row.device == device) {
            return row.title;
        }
    }
    return "Device " + device_word(device);
}

std::optional<uint32_t> host_device(std::string_view word) {
    for (const auto& row : kHostDevices) {
        if (row.word == word) {
            return row.device;
        }
    }
    return std::nullopt;
}

}  // namespace peakline::report
