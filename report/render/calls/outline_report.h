// A run in outline, as JSON: what `peakline html A.peak B.peak` compares runs by. For pages/page.py
// of the same version only.
#pragma once

#include <string>

#include "report/render/format/report_options.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Throws TraceError as the other reports do.
std::string make_outline(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress = {});

}  // namespace peakline::report
