// Chooses the moments at which growth is measured: ends of steps, or of equal parts of the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/replay/values/phase_table.h"
#include "report/trace/summary/checkpoint.h"

namespace peakline::report {

// kGeneration: a call of generate(): tokens are no steps, because the cache grows and then
// disappears. kPass: an evaluated batch, or a request, in a program with too few training steps.
enum class GrowthUnit { kStep, kGeneration, kPass, kTime };

// The first sample is at the beginning of the first step, each other one at the end of one or more
// steps. A bounded trace has samples of the earlier steps: they come first, and each is at the end
// of steps.
struct GrowthMoments {
    GrowthUnit unit = GrowthUnit::kTime;
    size_t earlier_count = 0;           // samples of a checkpoint
    std::vector<uint64_t> bounds;       // of the other samples, see SampleQuestion
    uint64_t units_per_sample = 1;      // number of steps: more than 1 in a very long run
    std::vector<uint32_t> first_units;  // by sample: the first step that ends with it
};

// A series of this many samples shows any growth; more would only take memory.
inline constexpr size_t kMostSamples = 512;

// Without steps: moments after equal numbers of events. `checkpoint`: of a bounded trace, or
// nullptr. With more steps than `most_samples`, a sample is at the end of several.
GrowthMoments growth_moments(const PhaseTable& table,
                             uint64_t event_count,
                             const Checkpoint* checkpoint = nullptr,
                             size_t most_samples = kMostSamples);

// Equal parts of a run that has too few steps to compare.
GrowthMoments parts_of_run(uint64_t event_count);

}  // namespace peakline::report
