// The moments at which growth is measured: ends of steps, or of equal parts of the run.
#pragma once

#include <cstdint>
#include <vector>

#include "report/replay/values/phase_table.h"
#include "report/trace/summary/checkpoint.h"

namespace peakline::report {

// kGeneration: a call of generate(), whose tokens are no steps: its cache grows and goes. kPass: a
// batch that is evaluated, or a request, of a program whose training has too few steps.
enum class GrowthUnit { kStep, kGeneration, kPass, kTime };

// The first sample is where the first step begins, each other one where one or more steps end. A
// trace that keeps less than every event has samples of the steps before: they come first, and each
// is the end of steps.
struct GrowthMoments {
    GrowthUnit unit = GrowthUnit::kTime;
    size_t earlier_count = 0;           // samples of a checkpoint
    std::vector<uint64_t> bounds;       // of the other ones, see SampleQuestion
    uint64_t units_per_sample = 1;      // steps: more than 1 in a run of very many
    std::vector<uint32_t> first_units;  // by sample: the first step that it is the end of
};

// Without steps: after equal numbers of events. `checkpoint`: of a trace that keeps less than every
// event, or nullptr.
GrowthMoments growth_moments(const PhaseTable& table,
                             uint64_t event_count,
                             const Checkpoint* checkpoint = nullptr);

// Equal parts of a run, whose steps are too few to compare.
GrowthMoments parts_of_run(uint64_t event_count);

}  // namespace peakline::report
