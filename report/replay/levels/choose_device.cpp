#include "choose_device.h"

#include <algorithm>

#include "report/replay/values/device_names.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

std::string words_text(const std::vector<DeviceTotals>& devices) {
    std::string text;
    for (const DeviceTotals& device : devices) {
        text += (text.empty() ? "" : ", ") + device_word(device.device);
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
            const bool is_cpu = choice.number == format::kCpuDevice;
            throw TraceError(
                trace_name + ": " + device_name(choice.number) +
                " has no allocation in this trace; devices in it: " + words_text(devices) +
                (is_cpu ? "; peakline run --cpu records CPU tensors" : ""));
        }
        return *found;
    }
    const auto highest = std::max_element(
        devices.begin(), devices.end(), [](const DeviceTotals& a, const DeviceTotals& b) {
            const bool is_a_of_host = format::is_of_host(a.device);
            return is_a_of_host != format::is_of_host(b.device) ? is_a_of_host
                                                                : a.peak_bytes < b.peak_bytes;
        });
    return highest == devices.end() ? DeviceTotals() : *highest;
}

}  // namespace peakline::report
