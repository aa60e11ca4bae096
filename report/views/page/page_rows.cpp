#include "page_rows.h"

#include <algorithm>
#include <map>

namespace peakline::report {

std::vector<PageRow> rows_by_line(const PageNames& names, std::span<const PageChange> live) {
    std::map<uint32_t, PageRow> by_line;
    for (const PageChange& one : live) {
        const PageContext& context = names.contexts[one.context];
        PageRow& row = by_line[context.line];
        row.line = context.line;
        row.bytes += static_cast<uint64_t>(one.bytes);
        row.count += static_cast<uint64_t>(one.count);
        row.categories[std::min<size_t>(context.category, kMaxPageCategories - 1)] +=
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
