// Which of the known names the user may have meant.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace peakline::report {

// "; did you mean category?" when one of the names is a typing error or two away; else empty.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& names);

// The `count` texts in which `word` is found with the fewest typing errors, the nearest first and
// the shorter one among equals.
std::vector<std::string> nearest_texts(const std::string& word,
                                       const std::vector<std::string>& texts,
                                       size_t count);

}  // namespace peakline::report
