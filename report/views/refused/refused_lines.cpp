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
        Label label = row_by_line(stacks, group).label;
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

}  // namespace peakline::report
