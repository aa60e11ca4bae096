// An outline of a run as JSON, by which `peakline html A.peak B.peak` compares runs. Only for
// pages/page.py of the same version.
#pragma once

#include <string>

#include "report/render/format/report_options.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Throws TraceError like the other reports.
std::string make_outline(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress = {});

}  // namespace peakline::report
