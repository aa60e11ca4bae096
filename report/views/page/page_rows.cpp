#include "page_rows.h"

#include <algorithm>
#include <map>

namespace peakline::report {

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
