#include "device_json.h"

#include "report/replay/values/device_names.h"

namespace peakline::report {

JsonWriter& put_device(JsonWriter& json, uint32_t device, DeviceScope scope) {
    if (format::is_of_host(device)) {
        return json.field("device", device_word(device));
    }
    return scope == DeviceScope::kSum ? json.field("device", "all") : json.field("device", device);
}

}  // namespace peakline::report
