#include "model/devices/visible_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace simgpu {
namespace {

constexpr int kUuidBytes = 16;

// -1: no device has this name.
int index_of(const std::string& name, int count) {
    char* end = nullptr;
    const long number = std::strtol(name.c_str(), &end, 10);
    if (!name.empty() && *end == '\0') {
        return number >= 0 && number < count ? static_cast<int>(number) : -1;
    }
    for (int index = 0; index < count && name.rfind("GPU-", 0) == 0; ++index) {
        if (uuid_text(index).rfind(name, 0) == 0) {
            return index;
        }
    }
    return -1;
}

}  // namespace

void write_uuid(int index, unsigned char uuid[16]) {
    for (int byte = 0; byte < kUuidBytes; ++byte) {
        uuid[byte] = static_cast<unsigned char>(0x51 + 7 * byte + index);
    }
}

std::string uuid_text(int index) {
    unsigned char uuid[kUuidBytes];
    write_uuid(index, uuid);
    std::string text = "GPU-";
    for (int byte = 0; byte < kUuidBytes; ++byte) {
        char digits[4];
        const bool begins_group = byte == 4 || byte == 6 || byte == 8 || byte == 10;
        std::snprintf(digits, sizeof digits, begins_group ? "-%02x" : "%02x", uuid[byte]);
        text += digits;
    }
    return text;
}

std::vector<int> chosen_devices(const char* text, int count) {
    std::vector<int> chosen;
    for (const char* at = text; *at != '\0';) {
        const size_t length = std::strcspn(at, ",");
        std::string name(at, length);
        name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
        const int index = index_of(name, count);
        if (index < 0) {
            break;
        }
        if (std::find(chosen.begin(), chosen.end(), index) != chosen.end()) {
            return {};
        }
        chosen.push_back(index);
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return chosen;
}

std::vector<int> visible_devices(int count) {
    const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
    const char* const outer = std::getenv("PEAKLINE_SIM_OUTER_VISIBLE");
    if (text != nullptr && (outer == nullptr || std::strcmp(text, outer) != 0)) {
        return chosen_devices(text, count);
    }
    std::vector<int> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

}  // namespace simgpu
