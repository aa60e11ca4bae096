// Rows of texts in columns of equal width, two spaces apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace peakline::report {

enum class Align : unsigned char { kLeft, kRight, kLeftWhole };

// Before a text that lies `depth` levels deep. A hostile trace nests deeper than a screen is wide.
inline std::string indentation(uint64_t depth) {
    constexpr uint64_t kMostLevels = 20;
    return std::string(2 * std::min(depth, kMostLevels), ' ');
}

class TextColumns {
public:
    TextColumns(std::vector<Align> aligns, std::vector<std::string> heads);
    void add(std::vector<std::string> cells);
    // Every line begins with `indent`; trailing spaces are left out. With a width, the cells of
    // columns that are kLeft are shortened until lines are no longer than that.
    std::string text(const std::string& indent = {}, size_t width = 0) const;

private:
    // Columns of the terminal that each column of the table gets.
    std::vector<size_t> column_widths(size_t room) const;

    std::vector<Align> aligns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace peakline::report
