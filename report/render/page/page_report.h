// The data of a trace for `peakline html`: names and counts as JSON, and the columns that
// page_columns.h lists. Only for report/page and pages/page.py of the same version.
#pragma once

#include <string>

#include "report/render/format/report_options.h"
#include "report/trace/reader.h"
#include "report/views/page/page.h"

namespace peakline::report {

struct PageFile {
    std::string json;
    std::string columns;  // one after the other
};

// `budget_bytes`: the limit for the compressed columns; moments are joined to stay within it.
// Throws TraceError like the other reports.
PageFile make_page(const TraceReader& reader,
                   const ReportOptions& options,
                   const PageRequest& request,
                   uint64_t budget_bytes,
                   const Progress& progress = {});

}  // namespace peakline::report
