// `stats`: counts and sizes of the whole trace. JSON schema: JSON.md.
#pragma once

#include <cstdint>

#include "report/render/document/document.h"
#include "report/render/facts/where_report.h"
#include "report/render/format/path_display.h"
#include "report/replay/totals/allocation_totals.h"
#include "report/trace/reader.h"
#include "report/views/blocks/stats.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct StatsReport {
    const TraceReader& reader;
    const Selection& selection;
    const AllocationTotals& totals;
    const Stats& stats;
    uint64_t top = 0;  // rows of each list; 0: all
    PathDisplay paths;
    uint64_t unmatched_module_count = 0;
    ShownPart part;
};

void put_stats(Document& document, const StatsReport& report);

}  // namespace peakline::report
