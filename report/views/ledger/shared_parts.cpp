#include "shared_parts.h"

#include <algorithm>
#include <map>
#include <set>

#include "allocator/record/format/shared_names.h"
#include "report/attribute/grouping.h"

namespace peakline::report {
namespace {

using format::DriverKind;
using format::kOpenedName;
using format::kOwnedName;

std::string number_of(std::string_view name) {
    for (const std::string_view words : {kOwnedName, kOpenedName}) {
        if (name.substr(0, words.size()) == words) {
            return std::string(name.substr(words.size()));
        }
    }
    return {};
}

}  // namespace

std::vector<SharedPart> shared_parts(const DriverMemory::Requests& requests, StackLookup& stacks) {
    std::map<uint64_t, uint64_t> mapped_bytes;  // by handle
    for (const auto& [key, request] : requests) {
        mapped_bytes[request.owner] += request.kind == DriverKind::kMapping ? request.bytes : 0;
    }
    std::vector<SharedPart> parts;
    std::set<std::pair<PartKind, std::string>> known;  // a piece may be opened for two tensors
    for (const auto& [key, request] : requests) {
        if (!request.is_shared) {
            continue;
        }
        BlockGroup group;
        group.context = static_cast<uint32_t>(request.context);
        SharedPart part;
        part.kind = request.kind == DriverKind::kImported ? PartKind::kOpened : PartKind::kExported;
        part.number = number_of(stacks.definitions().text(request.shared_name));
        if (!part.number.empty() && !known.insert({part.kind, part.number}).second) {
            continue;
        }
        // The driver does not give the bytes of an opened handle of physical memory.
        part.bytes = request.bytes != 0 ? request.bytes : mapped_bytes[request.key];
        part.line = {row_by_line(stacks, group).label, part.bytes, 1};
        parts.push_back(std::move(part));
    }
    std::stable_sort(
        parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return parts;
}

}  // namespace peakline::report
