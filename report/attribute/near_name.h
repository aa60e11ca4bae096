// Which of the known names the user may have meant.
#pragma once

#include <string>
#include <vector>

namespace peakline::report {

// "; did you mean category?" when one of the names is a typing error or two away; else empty.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& names);

}  // namespace peakline::report
