// The moments at which growth is measured: ends of steps, or of equal parts of the run.
#pragma once

#include <cstdint>
#include <vector>

#include "report/replay/values/phase_table.h"

namespace peakline::report {

// kGeneration: a call of generate(), whose tokens are no steps: its cache grows and goes.
enum class GrowthUnit { kStep, kGeneration, kTime };

// The first sample is where the first step begins, each other one where one or more steps end.
struct GrowthMoments {
    GrowthUnit unit = GrowthUnit::kTime;
    std::vector<uint64_t> bounds;       // see SampleQuestion
    uint64_t units_per_sample = 1;      // steps: more than 1 in a run of very many
    std::vector<uint32_t> first_units;  // by sample: the first step that it is the end of
};

// Without steps: after equal numbers of events.
GrowthMoments growth_moments(const PhaseTable& table, uint64_t event_count);

}  // namespace peakline::report
