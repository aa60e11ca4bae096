// Parses the device choice. The table itself is generated from profiles.json.

#include "model/devices/profiles.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "device_profiles.inc"
#include "model/base/log.h"

namespace simgpu {
namespace {

const DeviceProfile* find_profile(const std::string& key) {
    for (const DeviceProfile& profile : kDeviceProfiles) {
        if (key == profile.key) {
            return &profile;
        }
    }
    return nullptr;
}

std::string joined(const std::string& names, const std::string& name) {
    return names.empty() ? name : names + ", " + name;
}

bool is_slice(const std::string& key) {
    return key.find(':') != std::string::npos;
}

std::string known_profiles() {
    std::string names;
    for (const DeviceProfile& profile : kDeviceProfiles) {
        names = is_slice(profile.key) ? names : joined(names, profile.key);
    }
    return names;
}

// The slices of a GPU, or "".
std::string known_slices(const std::string& gpu) {
    std::string names;
    for (const DeviceProfile& profile : kDeviceProfiles) {
        const std::string key = profile.key;
        names = key.rfind(gpu + ":", 0) == 0 ? joined(names, key) : names;
    }
    return names;
}

// Parses "80GiB", "512 MiB", "1e9"; 0 if it is not a size.
size_t parse_bytes(const char* text) {
    char* unit = nullptr;
    const double number = std::strtod(text, &unit);
    if (unit == text || number <= 0) {
        return 0;
    }
    struct Unit {
        const char* name;
        double bytes;
    };
    constexpr Unit kUnits[] = {{"", 1},
                               {"B", 1},
                               {"KiB", 1024.0},
                               {"MiB", 1048576.0},
                               {"GiB", 1073741824.0},
                               {"TiB", 1099511627776.0},
                               {"KB", 1e3},
                               {"MB", 1e6},
                               {"GB", 1e9},
                               {"TB", 1e12}};
    while (*unit == ' ') {
        ++unit;
    }
    for (const Unit& candidate : kUnits) {
        if (std::strcmp(unit, candidate.name) == 0) {
            return static_cast<size_t>(number * candidate.bytes);
        }
    }
    return 0;
}

// Removes a trailing "xCOUNT" from the name. Names may contain an x themselves (rtx4090).
int take_device_count(std::string* name) {
    const size_t x = name->rfind('x');
    if (x == std::string::npos || x + 1 == name->size() || find_profile(*name) != nullptr) {
        return 1;
    }
    const std::string digits = name->substr(x + 1);
    if (digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 3) {
        return 1;
    }
    name->resize(x);
    return static_cast<int>(std::strtol(digits.c_str(), nullptr, 10));
}

struct ConstantName {
    Constant which;
    const char* name;
    size_t DeviceProfile::*member;
};
constexpr ConstantName kConstants[] = {
    {Constant::kContext, "context_bytes", &DeviceProfile::context_bytes},
    {Constant::kFirstLaunch, "first_launch_bytes", &DeviceProfile::first_launch_bytes},
    {Constant::kCublasHandle, "cublas_handle_bytes", &DeviceProfile::cublas_handle_bytes},
    {Constant::kCudnnHandle, "cudnn_handle_bytes", &DeviceProfile::cudnn_handle_bytes},
    {Constant::kNcclCommunicator,
     "nccl_communicator_bytes",
     &DeviceProfile::nccl_communicator_bytes},
    {Constant::kOtherProcesses, "other_processes_bytes", nullptr},
};

// Finds the number after "NAME=" in the environment's list. Returns false if there is none.
bool find_in_environment(const char* name, size_t* bytes) {
    static const char* const text = std::getenv("PEAKLINE_SIM_CONSTANTS");
    const size_t length = std::strlen(name);
    for (const char* item = text; item != nullptr; item = std::strchr(item, ',')) {
        item += *item == ',' ? 1 : 0;
        if (std::strncmp(item, name, length) == 0 && item[length] == '=') {
            *bytes = std::strtoull(item + length + 1, nullptr, 10);
            return true;
        }
    }
    return false;
}

}  // namespace

size_t constant(Constant which, const DeviceProfile& profile) {
    for (const ConstantName& known : kConstants) {
        if (known.which == which) {
            size_t bytes = known.member != nullptr ? profile.*known.member : 0;
            find_in_environment(known.name, &bytes);
            return bytes;
        }
    }
    return 0;
}

DeviceSelection select_devices(const char* text) {
    std::string name = text == nullptr || *text == '\0' ? "h200" : text;
    const std::string whole = name;
    DeviceSelection selection;
    const size_t colon = name.find(':');
    if (colon != std::string::npos && find_profile(name) == nullptr) {
        selection.capacity_bytes = parse_bytes(name.c_str() + colon + 1);
        name.resize(colon);
        if (selection.capacity_bytes == 0) {
            const std::string slices = known_slices(name);
            log_message(0,
                        "PEAKLINE_SIM_DEVICE=%s: after the colon write a size such as 80GiB%s%s",
                        whole.c_str(),
                        slices.empty() ? "" : ", or a slice: ",
                        slices.c_str());
            return {};
        }
    }
    selection.device_count = take_device_count(&name);
    selection.profile = find_profile(name);
    if (selection.profile == nullptr) {
        log_message(0,
                    "PEAKLINE_SIM_DEVICE=%s: no device profile is called '%s'; known are: %s",
                    whole.c_str(),
                    name.c_str(),
                    known_profiles().c_str());
        return {};
    }
    if (selection.device_count < 1 || selection.device_count > kMaxDevices) {
        log_message(0,
                    "PEAKLINE_SIM_DEVICE=%s: from 1 to %d devices can be simulated",
                    whole.c_str(),
                    kMaxDevices);
        return {};
    }
    if (selection.capacity_bytes == 0) {
        selection.capacity_bytes = selection.profile->capacity_bytes;
    }
    return selection;
}

}  // namespace simgpu
