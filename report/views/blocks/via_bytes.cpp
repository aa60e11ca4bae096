#include "via_bytes.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace peakline::report {

void ViaBytes::add(const std::string& name, uint64_t bytes, uint64_t count) {
    ViaPart& part = parts_[name];
    part.bytes += bytes;
    part.count += count;
}

std::vector<ViaPart> ViaBytes::take() {
    std::vector<ViaPart> parts;
    for (auto& [name, part] : parts_) {
        part.name = name;
        parts.push_back(std::move(part));
    }
    parts_.clear();
    if (parts.size() == 1 && parts.front().name.empty()) {
        return {};
    }
    std::sort(parts.begin(), parts.end(), [](const ViaPart& a, const ViaPart& b) {
        return std::tuple(b.bytes, a.name.empty(), std::string_view(a.name)) <
               std::tuple(a.bytes, b.name.empty(), std::string_view(b.name));
    });
    return parts;
}

}  // namespace peakline::report
