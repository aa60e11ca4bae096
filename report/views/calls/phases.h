// The phase table: every phase of every step on one device, and the sum of each kind of phase over
// the whole trace. Pure aggregation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/replay/values/phase_table.h"

namespace peakline::report {

// One kind of phase over all steps.
struct PhaseTotal {
    std::string name;
    uint64_t count = 0;
    uint64_t peak_bytes = 0;
    uint64_t peak_tick = 0;
    std::optional<uint32_t> peak_step;
    uint64_t allocated_bytes = 0;
    uint64_t freed_bytes = 0;
    uint64_t ticks = 0;
};

// In the order of the kinds' first phases. Nested phases of the same name count once.
std::vector<PhaseTotal> total_phases(const std::vector<PhaseInterval>& intervals, uint32_t slot);

struct TraceEnd {
    uint64_t level_bytes = 0;
    uint64_t tick = 0;
};
inline constexpr const char* kBetweenPhases = "between phases";

// Returns the phases in order. If the level of `slot` changed between two phases, or from the last
// to `end`, an interval named kBetweenPhases is added there. It has only frees, because every
// allocation belongs to a phase.
std::vector<PhaseInterval> with_gaps(const std::vector<PhaseInterval>& intervals,
                                     uint32_t slot,
                                     const TraceEnd& end);

}  // namespace peakline::report
