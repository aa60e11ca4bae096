#include "near_name.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace peakline::report {
namespace {

constexpr size_t kMostErrors = 2;

// Letters to insert, delete, replace or swap with their neighbour.
size_t errors_between(const std::string& one, const std::string& other) {
    std::vector<size_t> before_last(other.size() + 1);
    std::vector<size_t> last(other.size() + 1);
    std::vector<size_t> row(other.size() + 1);
    std::iota(last.begin(), last.end(), size_t{0});
    for (size_t i = 1; i <= one.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= other.size(); ++j) {
            const size_t replaced = last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
        before_last.swap(last);
        last.swap(row);
    }
    return last[other.size()];
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
    const std::string* nearest = nullptr;
    // Of a short word, two errors leave nothing.
    size_t fewest = std::min(kMostErrors, word.size() / 2) + 1;
    for (const std::string& name : names) {
        const size_t errors = errors_between(word, name);
        if (errors < fewest) {
            fewest = errors;
            nearest = &name;
        }
    }
    return nearest != nullptr ? "; did you mean " + *nearest + "?" : std::string();
}

}  // namespace peakline::report
