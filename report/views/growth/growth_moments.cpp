#include "growth_moments.h"

#include <algorithm>
#include <utility>

#include "growth_fit.h"

namespace peakline::report {
namespace {

// Without steps: enough parts that each is at most as long as the program's repeating unit.
constexpr uint64_t kPartsOfRun = 64;

std::vector<uint64_t> begins_of_calls(const PhaseTable& table) {
    std::vector<uint64_t> begins;
    for (const PhaseInterval& interval : table.named) {
        if (interval.name == kRegionNames[static_cast<size_t>(Region::kPrefill)]) {
            begins.push_back(interval.begin_event);
        }
    }
    std::sort(begins.begin(), begins.end());
    return begins;
}

// The time after a forward pass belongs to it, up to the next one.
std::vector<uint64_t> begins_of_steps(const PhaseTable& table) {
    std::vector<uint64_t> begins;
    for (const PhaseInterval& step : table.steps) {
        begins.push_back(step.begin_event);
    }
    return begins;
}

// The longest run of forward passes without a backward pass: an evaluation, or requests.
std::vector<uint64_t> begins_of_passes(const PhaseTable& table) {
    std::vector<uint64_t> longest;
    std::vector<uint64_t> row;
    const auto end_row = [&] {
        longest = row.size() > longest.size() ? std::exchange(row, {}) : longest;
        row.clear();
    };
    for (const PhaseInterval& interval : table.phases) {
        if (interval.thread != table.main_thread || interval.depth != 0) {
            continue;
        }
        if (interval.phase == Phase::kForward) {
            row.push_back(interval.begin_event);
        } else if (interval.phase == Phase::kBackward && !row.empty()) {
            row.pop_back();
            end_row();
        } else if (interval.phase == Phase::kOptimizer) {
            end_row();
        }
    }
    end_row();
    return longest;
}

// Excludes ends at the program's end, where it frees memory that was in use until then.
std::vector<uint64_t> ends_of_steps(const PhaseTable& table) {
    std::vector<uint64_t> ends;
    for (const PhaseInterval& step : table.steps) {
        ends.push_back(step.end_event);
    }
    const bool ends_with_run = table.step_source == StepSource::kMarks || !table.last_step_ended;
    if (ends_with_run && !ends.empty()) {
        ends.pop_back();
    }
    return ends;
}

// Units are contiguous: each begins where the previous one ends. Events after the last end belong
// to no unit.
void set_bounds(uint64_t begin,
                const std::vector<uint64_t>& ends,
                size_t most_samples,
                GrowthMoments* moments) {
    moments->units_per_sample = ends.size() / most_samples + (ends.size() % most_samples != 0);
    moments->units_per_sample = std::max<uint64_t>(moments->units_per_sample, 1);
    moments->bounds = {begin};
    moments->first_units = {0};
    uint32_t first_unit = 0;
    for (uint32_t i = 0; i < ends.size(); ++i) {
        if ((ends.size() - 1 - i) % moments->units_per_sample == 0) {
            moments->bounds.push_back(ends[i]);
            moments->first_units.push_back(first_unit);
            first_unit = i + 1;
        }
    }
}

// Parts as long as the earlier ones: the recorder made each after about as many events.
void add_parts(const Checkpoint& checkpoint, uint64_t event_count, GrowthMoments* moments) {
    const uint64_t width = std::max<uint64_t>(checkpoint.first_event / moments->earlier_count, 1);
    for (uint64_t bound = width; bound < event_count; bound += width) {
        moments->bounds.push_back(bound);
    }
}

// Adds each step that ends a sample, counted on from the earlier ones.
void add_steps(const PhaseTable& table, GrowthMoments* moments) {
    std::vector<uint64_t> ends = ends_of_steps(table);
    if (table.step_source == StepSource::kMarks) {
        ends.insert(ends.begin(), table.steps.front().begin_event);
    }
    for (size_t i = 0; i < ends.size(); ++i) {
        if ((table.earlier_steps + i + 1) % moments->units_per_sample == 0) {
            moments->bounds.push_back(ends[i]);
        }
    }
}

GrowthMoments after_earlier(const PhaseTable& table,
                            uint64_t event_count,
                            const Checkpoint& checkpoint) {
    const StepHistory& steps = *checkpoint.steps;
    GrowthMoments moments;
    moments.unit = steps.has_steps() ? GrowthUnit::kStep : GrowthUnit::kTime;
    moments.earlier_count = steps.samples.size();
    moments.units_per_sample = steps.steps_per_sample;
    if (!steps.has_steps()) {
        add_parts(checkpoint, event_count, &moments);
    } else if (table.step_source == table.earlier_source) {
        add_steps(table, &moments);
    }
    const size_t count = moments.earlier_count + moments.bounds.size();
    for (size_t sample = 0; sample < count; ++sample) {
        moments.first_units.push_back(static_cast<uint32_t>(steps.first_step_of(sample)));
    }
    return moments;
}

// If the program's first step is among the events, the earlier parts are useless.
bool is_earlier_useful(const Checkpoint& checkpoint, const PhaseTable& table) {
    const bool has_earlier =
        checkpoint.first_event != 0 && checkpoint.steps && !checkpoint.steps->samples.empty();
    const bool has_own_steps =
        table.step_source == StepSource::kMarks || table.step_source == StepSource::kOptimizer;
    return has_earlier && (checkpoint.steps->has_steps() ||
                           (!has_own_steps && checkpoint.steps->samples.size() >= kLeastSamples));
}

}  // namespace

// The last part ends with the program, which frees memory that was in use until then.
GrowthMoments parts_of_run(uint64_t event_count) {
    GrowthMoments moments;
    const uint64_t width = std::max<uint64_t>(event_count / kPartsOfRun, 1);
    for (uint32_t part = 0; part < kPartsOfRun; ++part) {
        moments.bounds.push_back(part * width);
        moments.first_units.push_back(part == 0 ? 0 : part - 1);
    }
    return moments;
}

GrowthMoments growth_moments(const PhaseTable& table,
                             uint64_t event_count,
                             const Checkpoint* checkpoint,
                             size_t most_samples) {
    if (checkpoint != nullptr && is_earlier_useful(*checkpoint, table)) {
        return after_earlier(table, event_count, *checkpoint);
    }
    if (table.step_source == StepSource::kNone) {
        return parts_of_run(event_count);
    }
    GrowthMoments moments;
    moments.unit = GrowthUnit::kStep;
    if (table.step_source != StepSource::kForward) {
        set_bounds(table.steps.front().begin_event, ends_of_steps(table), most_samples, &moments);
        const std::vector<uint64_t> passes = begins_of_passes(table);
        if (moments.bounds.size() < kLeastSamples && passes.size() >= kLeastSamples) {
            moments.unit = GrowthUnit::kPass;
            set_bounds(passes.front(), {passes.begin() + 1, passes.end()}, most_samples, &moments);
        }
        return moments;
    }
    std::vector<uint64_t> begins = begins_of_calls(table);
    if (begins.empty()) {
        begins = begins_of_steps(table);
    } else {
        moments.unit = GrowthUnit::kGeneration;
    }
    set_bounds(begins.front(), {begins.begin() + 1, begins.end()}, most_samples, &moments);
    return moments;
}

}  // namespace peakline::report
