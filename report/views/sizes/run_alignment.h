// Aligns the allocations of two runs of a program. Each allocation is a number that stands for its
// line and operator; the same work gives the same numbers in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace peakline::report {

inline constexpr uint32_t kNotAligned = UINT32_MAX;
inline constexpr size_t kMostDifferences = 2000;

// By allocation of `base`: the same one in `other`, or kNotAligned. The longest common sequence, by
// the algorithm of Myers. nullopt: more than `most` allocations are in one run alone.
std::optional<std::vector<uint32_t>> align_runs(const std::vector<uint32_t>& base,
                                                const std::vector<uint32_t>& other,
                                                size_t most = kMostDifferences);

}  // namespace peakline::report
