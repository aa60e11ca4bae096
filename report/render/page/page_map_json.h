// The map of a page as JSON: its moments, each with the ledger of the device if the trace has it,
// and the memory that the run would need under other settings of torch's allocator.
#pragma once

#include "report/attribute/stacks/stack_lookup.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/report_options.h"
#include "report/trace/reader.h"
#include "report/views/page/page.h"

namespace peakline::report {

struct PageMapReport {
    const TraceReader& reader;
    const ReportOptions& options;
    const Page& page;
    StackLookup& stacks;
};

// Writes the fields `map`, `whatif` and `streams` of an object.
void put_page_map(JsonWriter& json, const PageMapReport& report);

}  // namespace peakline::report
