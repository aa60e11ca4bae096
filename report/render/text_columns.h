// Rows of texts in columns of equal width, two spaces apart.
#pragma once

#include <string>
#include <vector>

namespace peakline::report {

enum class Align : unsigned char { kLeft, kRight };

class TextColumns {
public:
    TextColumns(std::vector<Align> aligns, std::vector<std::string> heads);
    void add(std::vector<std::string> cells);
    // Every line begins with `indent`; trailing spaces are left out.
    std::string text(const std::string& indent = {}) const;

private:
    std::vector<Align> aligns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace peakline::report
