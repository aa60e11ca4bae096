#include "page_rows.h"

#include <algorithm>
#include <map>

namespace peakline::report {
namespace {

// The innermost frame of the program itself; nullopt if that is the line of the context.
std::optional<uint32_t> caller_of(const PageNames& names, const PageContext& context) {
    const Label& line = names.lines[context.line];
    for (uint32_t node = context.node; node != 0; node = names.nodes[node].parent) {
        const PageFrame& frame = names.frames[names.nodes[node].frame];
        if (!frame.is_users) {
            continue;
        }
        const bool is_line = !line.frames.empty() &&
                             line.frames.front().file == frame.location.file &&
                             line.frames.front().line == frame.location.line;
        return is_line ? std::nullopt : std::optional(names.nodes[node].frame);
    }
    return std::nullopt;
}

}  // namespace

std::optional<uint32_t> PageRow::main_caller() const {
    const auto most = std::max_element(callers.begin(), callers.end(), [](auto& one, auto& other) {
        return one.second < other.second;
    });
    return most == callers.end() ? std::nullopt : std::optional(most->first);
}

std::vector<PageRow> rows_by_line(const PageNames& names, std::span<const PageChange> live) {
    std::map<uint32_t, PageRow> by_line;
    for (const PageChange& one : live) {
        const uint32_t line = names.contexts[one.context].line;
        PageRow& row = by_line[line];
        row.line = line;
        row.bytes += static_cast<uint64_t>(one.bytes);
        row.count += static_cast<uint64_t>(one.count);
        const size_t category = names.category_of(one.context);
        row.categories[std::min(category, kMaxPageCategories - 1)] +=
            static_cast<uint64_t>(one.bytes);
        if (const auto caller = caller_of(names, names.contexts[one.context])) {
            row.callers[*caller] += static_cast<uint64_t>(one.bytes);
        }
    }
    std::vector<PageRow> rows;
    rows.reserve(by_line.size());
    for (const auto& [line, row] : by_line) {
        rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const PageRow& a, const PageRow& b) {
        return a.bytes > b.bytes;
    });
    return rows;
}

}  // namespace peakline::report
