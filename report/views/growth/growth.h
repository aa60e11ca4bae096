// What grows from step to step: rows of a key whose blocks become more, or larger. The rules are in
// growth_fit.h. Pure aggregation.
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

// What keeps blocks of a row alive, as a search found it: `losses[*]` stands for all of a list.
struct GrowthHolder {
    std::string kind;  // see kind_name() in views/blocks/holders.h
    std::string path;
    uint64_t block_count = 0;  // that the searches looked for
};

// Inputs that a row follows.
struct FollowedInputs {
    Label line;  // that makes them
    InputRise rise;
    double bytes_per_unit = 0;  // the row's, for a unit of `rise`
};

struct GrowthRow {
    std::vector<Label> labels;  // of each key
    GrowthFit fit;
    // Of what is left of the row without what follows its inputs; see Note [Growth with inputs].
    bool is_beside_inputs = false;
    std::optional<FollowedInputs> inputs;  // of Growth::following
    // At this rate a million steps would take less than the peak holds now.
    bool is_slow = false;
    // It grew in each of the last windows by more blocks: worth a line that nobody asked for.
    bool is_certain = false;
    std::vector<GrowthHolder> holders;  // most blocks first
};

struct Growth {
    GrowthMoments moments;
    size_t sample_count = 0;
    std::vector<uint64_t> ticks;       // of the samples
    std::vector<GrowthRow> growing;    // fastest first
    std::vector<GrowthRow> following;  // that would be among them, had their inputs not grown
    std::vector<GrowthRow> levelled;   // largest first
    std::vector<GrowthRow> returning;
    // From the sample before this one to the last, for each of them.
    double ticks_per_sample(size_t sample) const {
        const uint64_t ticks_passed = ticks.back() - ticks[sample == 0 ? 0 : sample - 1];
        return static_cast<double>(ticks_passed) / static_cast<double>(sample_count - sample);
    }
    bool is_too_short() const { return sample_count < kLeastSamples; }
    // Steps, calls or parts of the run that were compared.
    uint64_t unit_count() const {
        const size_t ends = sample_count - (moments.earlier_count == 0 ? 1 : 0);
        return sample_count == 0 ? 0 : ends * moments.units_per_sample;
    }
};

struct GrowthQuestion {
    const LevelSamples& samples;
    const BlockPlaces* places = nullptr;  // without: slots are contexts
    uint64_t peak_bytes = 0;
    std::vector<StepInputs> inputs = {};           // by sample, as `samples`
    const std::vector<TrackedBlock>& left_at_end;  // every block
};

Growth build_growth(const GrowthQuestion& question, GrowthMoments moments, const BlockKeys& keys);

}  // namespace peakline::report
