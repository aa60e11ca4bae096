#include "refused_lines.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "report/attribute/grouping.h"

namespace peakline::report {

std::vector<RefusedLine> refused_lines_without(const RefusedRequests& refused,
                                               uint64_t shown,
                                               StackLookup& stacks) {
    std::map<std::string, RefusedLine> lines;
    for (size_t i = 0; i < refused.list.size(); ++i) {
        const uint64_t number = refused.number_of(refused.list[i]);
        if (number == shown) {
            continue;
        }
        BlockGroup group;
        group.context = refused.list[i].request.context;
        Label label = place_by_line(stacks, group).label;
        RefusedLine& line = lines[label.key];
        line.line = std::move(label);
        ++line.count;
        line.last_number = number;
    }
    std::vector<RefusedLine> list;
    list.reserve(lines.size());
    for (auto& [key, line] : lines) {
        list.push_back(std::move(line));
    }
    std::stable_sort(list.begin(), list.end(), [](const RefusedLine& a, const RefusedLine& b) {
        return a.count > b.count;
    });
    return list;
}

std::optional<HolderList> holders_of_request(const TraceReader& reader,
                                             const RefusedRequests& refused,
                                             const Autopsy& autopsy,
                                             StackLookup& stacks) {
    const auto& searches = reader.definitions().holder_searches;
    const auto found = std::find_if(searches.begin(), searches.end(), [&](const auto& search) {
        return search.reason == format::HoldReason::kOutOfMemory &&
               search.tick >= autopsy.refused.request.tick;
    });
    const bool is_last = autopsy.number == refused.count;
    if (!is_last || found == searches.end()) {
        return std::nullopt;
    }
    const auto number = static_cast<uint32_t>(found - searches.begin()) + 1;
    return build_holders(reader.name(), number, stacks);
}

}  // namespace peakline::report
