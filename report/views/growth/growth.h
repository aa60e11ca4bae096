// Finds growth from step to step: rows of a key whose blocks increase in number or size. The rules
// are in growth_fit.h. Pure aggregation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "growth_fit.h"
#include "growth_moments.h"
#include "input_sizes.h"
#include "report/attribute/block_keys.h"
#include "report/replay/totals/level_samples.h"
#include "report/views/selection/selected_blocks.h"

namespace peakline::report {

// A holder of a row's blocks that a search found: `losses[*]` means all items of a list.
struct GrowthHolder {
    std::string kind;  // see kind_name() in views/blocks/holders.h
    std::string path;
    uint64_t block_count = 0;  // number of blocks in the searches
};

// Inputs that explain a row's growth.
struct FollowedInputs {
    Label line;  // the line that makes them
    InputRise rise;
    double bytes_per_unit = 0;  // bytes of the row for a unit of `rise`
};

struct GrowthRow {
    std::vector<Label> labels;  // one per key
    GrowthFit fit;
    // The fit is for the rest of the row after subtracting the inputs' part; see Note [Growth with
    // inputs].
    bool is_beside_inputs = false;
    std::optional<FollowedInputs> inputs;  // for Growth::following
    // At this rate a million steps would take less than the current peak.
    bool is_slow = false;
    // It grew in each of the last windows, by more blocks: worth a line in a report that nobody
    // requested.
    bool is_certain = false;
    std::vector<GrowthHolder> holders;  // most blocks first
};

struct Growth {
    GrowthMoments moments;
    size_t sample_count = 0;
    std::vector<uint64_t> ticks;       // of the samples
    std::vector<GrowthRow> growing;    // fastest first
    std::vector<GrowthRow> following;  // would be among `growing`, had their inputs not grown
    std::vector<GrowthRow> levelled;   // largest first
    std::vector<GrowthRow> returning;
    // Mean ticks from the sample before this one to the last, per sample.
    double ticks_per_sample(size_t sample) const {
        const uint64_t ticks_passed = ticks.back() - ticks[sample == 0 ? 0 : sample - 1];
        return static_cast<double>(ticks_passed) / static_cast<double>(sample_count - sample);
    }
    bool is_too_short() const { return sample_count < kLeastSamples; }
    // Number of compared steps, calls or parts of the run.
    uint64_t unit_count() const {
        const size_t ends = sample_count - (moments.earlier_count == 0 ? 1 : 0);
        return sample_count == 0 ? 0 : ends * moments.units_per_sample;
    }
};

struct GrowthQuestion {
    const LevelSamples& samples;
    const NumberedGroups* groups = nullptr;  // nullptr: slots are contexts
    uint64_t peak_bytes = 0;
    std::vector<StepInputs> inputs = {};           // by sample, as `samples`
    const std::vector<TrackedBlock>& left_at_end;  // every block
};

Growth build_growth(const GrowthQuestion& question, GrowthMoments moments, const BlockKeys& keys);

}  // namespace peakline::report
