// The data that compares one run with others: its peak and those of its phases on every device, and
// the live set at the peak by several keys. One pass over the events, two for several GPUs.
#pragma once

#include <vector>

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
#include "report/views/blocks/table.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct OutlineRows {
    const char* by = nullptr;  // key of the grouping
    Table table;
};

struct Outline {
    ReplayResult result;  // phases are empty in a trace without events
    std::vector<OutlineRows> rows;
    // Rows of all GPUs together at the peak of their sum; empty for one GPU or a chosen one.
    std::vector<OutlineRows> rows_of_all;
};

// Uses the frames, device and measure of `selection`; always the peak. Throws TraceError as a table
// does.
Outline build_outline(const TraceReader& reader,
                      const Selection& selection,
                      StackLookup& stacks,
                      const Progress& progress = {});

}  // namespace peakline::report
