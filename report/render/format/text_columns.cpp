#include "text_columns.h"

#include <algorithm>
#include <utility>

#include "path_display.h"
#include "printable.h"

namespace peakline::report {
namespace {

constexpr size_t kGap = 2;          // columns between two cells
constexpr size_t kLeastWidth = 12;  // of a shortened column

}  // namespace

TextColumns::TextColumns(std::vector<Align> aligns, std::vector<std::string> heads)
    : aligns_(std::move(aligns)) {
    rows_.push_back(std::move(heads));
}

void TextColumns::add(std::vector<std::string> cells) {
    std::transform(cells.begin(), cells.end(), cells.begin(), printable);
    rows_.push_back(std::move(cells));
}

std::vector<size_t> TextColumns::column_widths(size_t room) const {
    std::vector<size_t> widths(aligns_.size());
    for (const auto& row : rows_) {
        for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], column_count(row[i]));
        }
    }
    size_t total = kGap * (widths.size() - 1);
    for (const size_t width : widths) {
        total += width;
    }
    // The widest text gives way first, down to where nobody could read it.
    while (room != 0 && total > room) {
        size_t widest = widths.size();
        for (size_t i = 0; i < widths.size(); ++i) {
            const bool may_shrink = aligns_[i] == Align::kLeft && widths[i] > kLeastWidth;
            if (may_shrink && (widest == widths.size() || widths[i] > widths[widest])) {
                widest = i;
            }
        }
        if (widest == widths.size()) {
            break;
        }
        --widths[widest];
        --total;
    }
    return widths;
}

std::string TextColumns::text(const std::string& indent, size_t width) const {
    const size_t room = width > indent.size() ? width - indent.size() : 0;
    const std::vector<size_t> widths = column_widths(room);
    std::string text;
    for (const auto& row : rows_) {
        std::string line = indent;
        for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            const std::string cell = shortened(row[i], widths[i]);
            const size_t used = column_count(cell);
            const std::string padding(widths[i] > used ? widths[i] - used : 0, ' ');
            line += i == 0 ? "" : std::string(kGap, ' ');
            line += aligns_[i] == Align::kRight ? padding + cell : cell + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace peakline::report
