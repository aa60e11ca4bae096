#include "choose_device.h"

#include <algorithm>

#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

std::string numbers_text(const std::vector<DeviceTotals>& devices) {
    std::string text;
    for (const DeviceTotals& device : devices) {
        text += (text.empty() ? "" : ", ") + std::to_string(device.device);
    }
    return text.empty() ? "none" : text;
}

}  // namespace

DeviceTotals choose_device(const std::vector<DeviceTotals>& devices,
                           const DeviceChoice& choice,
                           const std::string& trace_name) {
    if (choice.kind == DeviceChoiceKind::kNumber) {
        const auto found =
            std::find_if(devices.begin(), devices.end(), [&choice](const DeviceTotals& device) {
                return device.device == choice.number;
            });
        if (found == devices.end()) {
            throw TraceError(
                trace_name + ": device " + std::to_string(choice.number) +
                " has no allocation in this trace; devices in it: " + numbers_text(devices));
        }
        return *found;
    }
    const auto highest = std::max_element(
        devices.begin(), devices.end(), [](const DeviceTotals& a, const DeviceTotals& b) {
            return a.peak_bytes < b.peak_bytes;
        });
    return highest == devices.end() ? DeviceTotals() : *highest;
}

}  // namespace peakline::report
