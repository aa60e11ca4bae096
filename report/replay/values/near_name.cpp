#include "near_name.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

namespace peakline::report {
namespace {

constexpr size_t kMostErrors = 2;

// Number of letters to insert, delete, replace or swap with their neighbour.
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

// The fewest letters to insert, delete or replace in `word` so that `text` contains it.
size_t errors_within(const std::string& word, const std::string& text) {
    std::vector<size_t> last(text.size() + 1);
    std::vector<size_t> row(text.size() + 1);
    for (size_t i = 1; i <= word.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= text.size(); ++j) {
            const size_t replaced = last[j - 1] + (word[i - 1] == text[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
        }
        last.swap(row);
    }
    return *std::min_element(last.begin(), last.end());
}

}  // namespace

std::vector<std::string> nearest_texts(const std::string& word,
                                       const std::vector<std::string>& texts,
                                       size_t count) {
    std::vector<std::tuple<size_t, size_t, size_t>> by_errors;  // errors, length, index
    for (size_t i = 0; i < texts.size(); ++i) {
        by_errors.emplace_back(errors_within(word, texts[i]), texts[i].size(), i);
    }
    const size_t kept = std::min(count, by_errors.size());
    std::partial_sort(
        by_errors.begin(), by_errors.begin() + static_cast<ptrdiff_t>(kept), by_errors.end());
    std::vector<std::string> nearest;
    for (size_t i = 0; i < kept; ++i) {
        nearest.push_back(texts[std::get<2>(by_errors[i])]);
    }
    return nearest;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
    const std::string* nearest = nullptr;
    // Two errors in a short word would match anything.
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
