// `timeline`: the level over time. JSON schema: JSON.md.
#pragma once

#include "report/render/facts/where_report.h"
#include "report/replay/totals/timeline.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

class Document;

struct TimelineReport {
    const TraceReader& reader;
    const Selection& selection;
    const Timeline& timeline;
    ShownPart part;
};

void put_timeline(Document& document, const TimelineReport& report);

}  // namespace peakline::report
