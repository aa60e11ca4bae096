// An outline of a run as JSON, by which `peakline html A.peak B.peak` compares runs. Only for
// pages/page.py of the same version.
#pragma once

#include <string>

#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/calls/outline.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct OutlineReport {
    const TraceReader& reader;
    const Selection& selection;
    const Outline& outline;
    const PathDisplay& paths;
};

std::string outline_json(const OutlineReport& report);

}  // namespace peakline::report
