// What one run is compared by with others: its peak and those of its phases on every device, and
// what was live at the peak by several keys. One pass over the events, two of several GPUs.
#pragma once

#include <vector>

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
#include "report/views/blocks/table.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct OutlineRows {
    const char* by = nullptr;  // key of a grouping
    Table table;
};

struct Outline {
    ReplayResult result;  // phases are empty in a trace without events
    std::vector<OutlineRows> rows;
    // Of all GPUs together at the peak of their sum; empty where a trace has one, or names one.
    std::vector<OutlineRows> rows_of_all;
};

// `selection`: its frames, device and measure; always the peak. Throws TraceError as a table does.
Outline build_outline(const TraceReader& reader,
                      const Selection& selection,
                      StackLookup& stacks,
                      const Progress& progress = {});

}  // namespace peakline::report
