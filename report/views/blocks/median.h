// The median of all reports: of values with their counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace peakline::report {

struct CountedValue {
    uint64_t value = 0;
    uint64_t count = 0;
};

// Returns the middle value; for an even count the mean of the two middle values, rounded down. 0
// without values. Sorts them.
inline uint64_t median_of(std::vector<CountedValue>& values) {
    std::ranges::sort(values, {}, &CountedValue::value);
    uint64_t count = 0;
    for (const CountedValue& one : values) {
        count += one.count;
    }
    const auto at = [&values](uint64_t index) {
        for (const CountedValue& one : values) {
            if (index < one.count) {
                return one.value;
            }
            index -= one.count;
        }
        return uint64_t{0};
    };
    if (count == 0) {
        return 0;
    }
    const uint64_t lower = at((count - 1) / 2);
    return lower + (at(count / 2) - lower) / 2;
}

}  // namespace peakline::report
