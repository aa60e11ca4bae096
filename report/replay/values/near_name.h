// Finds the known names that the user may have meant.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace peakline::report {

// Returns "; did you mean category?" when one of the names is one or two typing errors away; else
// "".
std::string did_you_mean(const std::string& word, const std::vector<std::string>& names);

// Returns the `count` texts that contain `word` with the fewest typing errors, nearest first,
// shorter first among equals.
std::vector<std::string> nearest_texts(const std::string& word,
                                       const std::vector<std::string>& texts,
                                       size_t count);

}  // namespace peakline::report
