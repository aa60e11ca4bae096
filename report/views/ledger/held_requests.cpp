#include "held_requests.h"

#include <map>

namespace peakline::report {

using format::DriverKind;

std::vector<HeldRequest> held_requests(const DriverMemory::Requests& requests) {
    std::vector<HeldRequest> held;
    std::map<uint64_t, size_t> of_handle;
    for (const auto& [key, request] : requests) {
        const bool has_address =
            request.kind != DriverKind::kPhysical && request.kind != DriverKind::kArray;
        if (format::is_on_device(request.kind) || request.kind == DriverKind::kAsync) {
            if (request.kind == DriverKind::kPhysical) {
                of_handle[request.key] = held.size();
            }
            held.push_back({&request});
            if (has_address) {
                held.back().ranges.push_back({request.key, request.bytes});
            }
        }
    }
    // Kinds are sorted by number: mappings come after physical memory.
    for (const auto& [key, request] : requests) {
        const auto found =
            request.kind == DriverKind::kMapping ? of_handle.find(request.owner) : of_handle.end();
        if (found != of_handle.end()) {
            held[found->second].ranges.push_back({request.key, request.bytes});
        }
    }
    return held;
}

}  // namespace peakline::report
