// The levels of a run by its steps, to lay it over another run: every step has the same number of
// parts, each with its exact peak, and the live set at the highest moment of the step. Steps are
// those of `leaks` (a long run has several in one); before the first and after the last one there
// is one more. Two passes over the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "page_buckets.h"
#include "page_contexts.h"
#include "report/replay/phases/phase_result.h"
#include "report/trace/reader.h"
#include "report/views/growth/growth_moments.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct StepPart {
    Height peak;
    uint64_t peak_tick = 0;
};

struct StepLevels {
    GrowthUnit unit = GrowthUnit::kTime;
    DeviceTotals chosen;
    std::vector<uint64_t> steps;  // of each but the first and the last one: its first step
    uint64_t end_step = 0;        // behind the last step
    size_t parts_per_step = 1;
    std::vector<StepPart> parts;      // step by step; the first ones are before the first step
    std::vector<size_t> change_ends;  // by step
    std::vector<PageChange> changes;  // from the highest moment of a step to that of the next one
    PageNames names;
};

// A bounded run shows only the steps that it keeps. Throws TraceError as a table does.
StepLevels build_step_levels(const TraceReader& reader,
                             const Selection& selection,
                             StackLookup& stacks,
                             const Progress& progress = {});

}  // namespace peakline::report
