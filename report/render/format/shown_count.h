// The number of rows of a list that --top shows.
#pragma once

#include <algorithm>
#include <cstdint>

namespace peakline::report {

// `top` 0: all rows.
inline uint64_t shown_count(uint64_t top, uint64_t row_count) {
    return top == 0 ? row_count : std::min(top, row_count);
}

}  // namespace peakline::report
