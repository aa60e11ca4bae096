// How a cell lies in its column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace peakline::report {

enum class Align : unsigned char {
    kRight,
    kLeft,       // shortened in its middle where lines are too long
    kLeftWhole,  // never shortened
    kWrapped,    // broken at words
};

// Before a text that lies `depth` levels deep. A hostile trace nests deeper than a screen is wide.
inline std::string indentation(uint64_t depth) {
    constexpr uint64_t kMostLevels = 20;
    return std::string(2 * std::min(depth, kMostLevels), ' ');
}

}  // namespace peakline::report
