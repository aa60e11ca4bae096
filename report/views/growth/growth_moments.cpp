#include "growth_moments.h"

#include <algorithm>

namespace peakline::report {
namespace {

// A series of this many samples shows any growth; more would only take memory.
constexpr size_t kMostSamples = 512;
// Without steps: enough that a part is shorter than what the program repeats, or as long.
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

// What follows a forward pass belongs to it, up to the next one.
std::vector<uint64_t> begins_of_steps(const PhaseTable& table) {
    std::vector<uint64_t> begins;
    for (const PhaseInterval& step : table.steps) {
        begins.push_back(step.begin_event);
    }
    return begins;
}

// Those of the program's end are none: it frees what was of use up to then.
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

// Of each unit where it begins is where the one before it ends; what follows the last is no unit.
void set_bounds(uint64_t begin, const std::vector<uint64_t>& ends, GrowthMoments* moments) {
    moments->units_per_sample =
        std::max<uint64_t>((ends.size() + kMostSamples - 1) / kMostSamples, 1);
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

// The last part ends with the program, which frees what was of use up to then.
GrowthMoments parts_of_run(uint64_t event_count) {
    GrowthMoments moments;
    const uint64_t width = std::max<uint64_t>(event_count / kPartsOfRun, 1);
    for (uint32_t part = 0; part < kPartsOfRun; ++part) {
        moments.bounds.push_back(part * width);
        moments.first_units.push_back(part == 0 ? 0 : part - 1);
    }
    return moments;
}

}  // namespace

GrowthMoments growth_moments(const PhaseTable& table, uint64_t event_count) {
    if (table.step_source == StepSource::kNone) {
        return parts_of_run(event_count);
    }
    GrowthMoments moments;
    moments.unit = GrowthUnit::kStep;
    if (table.step_source != StepSource::kForward) {
        set_bounds(table.steps.front().begin_event, ends_of_steps(table), &moments);
        return moments;
    }
    std::vector<uint64_t> begins = begins_of_calls(table);
    if (begins.empty()) {
        begins = begins_of_steps(table);
    } else {
        moments.unit = GrowthUnit::kGeneration;
    }
    set_bounds(begins.front(), {begins.begin() + 1, begins.end()}, &moments);
    return moments;
}

}  // namespace peakline::report
