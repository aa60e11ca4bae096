// The alignment of a cell in its column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace peakline::report {

enum class Align : unsigned char {
    kRight,
    kLeft,       // shortened in the middle when lines are too long
    kLeftWhole,  // never shortened
    kWrapped,    // broken at words
};

// Spaces before a text of this depth. Limited, because a hostile trace may nest deeper than a
// screen is wide.
inline std::string indentation(uint64_t depth) {
    constexpr uint64_t kMostLevels = 20;
    return std::string(2 * std::min(depth, kMostLevels), ' ');
}

}  // namespace peakline::report
