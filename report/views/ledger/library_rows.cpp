#include "library_rows.h"

#include <algorithm>

#include "report/attribute/grouping.h"
#include "report/attribute/operators/library_search.h"

namespace peakline::report {
namespace {

constexpr auto kMoreBytes = [](const auto& a, const auto& b) { return a.bytes > b.bytes; };

}  // namespace

void LibraryRows::add(const DriverRequest& request) {
    const auto context = static_cast<uint32_t>(request.context);
    const std::string made_for(stacks_.definitions().text(request.made_for));
    Row& row = rows_[{requesting_library(stacks_, context), made_for}];
    row.bytes += request.bytes;
    ++row.count;
    BlockGroup group;
    group.context = context;
    const Label label = row_by_line(stacks_, group).label;
    LedgerLine& line = row.lines.try_emplace(label.key, LedgerLine{label}).first->second;
    line.bytes += request.bytes;
    ++line.count;
}

void LibraryRows::put(PartKind kind, std::vector<LedgerPart>* parts) const {
    const size_t begin = parts->size();
    for (const auto& [key, row] : rows_) {
        const auto& [library, made_for] = key;
        LedgerPart part{made_for.empty() ? library : library + ", " + made_for,
                        kind,
                        static_cast<int64_t>(row.bytes),
                        row.count,
                        {}};
        for (const auto& [line_key, line] : row.lines) {
            part.lines.push_back(line);
        }
        std::stable_sort(part.lines.begin(), part.lines.end(), kMoreBytes);
        parts->push_back(std::move(part));
    }
    std::stable_sort(parts->begin() + static_cast<std::ptrdiff_t>(begin), parts->end(), kMoreBytes);
}

}  // namespace peakline::report
