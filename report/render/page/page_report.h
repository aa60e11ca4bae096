// What `peakline html` needs of a trace: a JSON of names and counts, and the columns, which
// page_columns.h lists. Both are for report/page and pages/page.py of the same version only.
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

// `budget_bytes`: of the columns when they are compressed; moments are joined until they fit.
// Throws TraceError as the other reports do.
PageFile make_page(const TraceReader& reader,
                   const ReportOptions& options,
                   const PageRequest& request,
                   uint64_t budget_bytes,
                   const Progress& progress = {});

}  // namespace peakline::report
