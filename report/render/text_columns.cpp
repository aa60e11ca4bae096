#include "text_columns.h"

#include <algorithm>
#include <utility>

namespace peakline::report {

TextColumns::TextColumns(std::vector<Align> aligns, std::vector<std::string> heads)
    : aligns_(std::move(aligns)) {
    rows_.push_back(std::move(heads));
}

void TextColumns::add(std::vector<std::string> cells) {
    rows_.push_back(std::move(cells));
}

std::string TextColumns::text(const std::string& indent) const {
    std::vector<size_t> widths(aligns_.size());
    for (const auto& row : rows_) {
        for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const auto& row : rows_) {
        std::string line = indent;
        for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            const std::string padding(widths[i] - row[i].size(), ' ');
            line += i == 0 ? "" : "  ";
            line += aligns_[i] == Align::kRight ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace peakline::report
