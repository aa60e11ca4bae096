// The options of `plan --sizes`, as callers give them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace peakline::report {

// The size of a step: samples at once, and tokens (or pixels along an edge) of each.
struct StepSize {
    uint64_t batch = 1;
    uint64_t length = 1;

    bool operator==(const StepSize&) const = default;
};
inline constexpr uint64_t kMostOfSize = uint64_t{1} << 20;  // products stay below 2^60

struct SizesText {
    // "8 512 PATH" by recording, the report's own trace first. 0: the shapes of its
    // inputs tell.
    std::vector<std::string> recorded;
    std::vector<std::string> at;  // "64 8192": predict the peak of these; 0: as recorded
};

}  // namespace peakline::report
