// The recorder's own result, if the trace has one. Peak-only traces and report_stats() use it
// without reading any event.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "recorded_totals.h"
#include "report/trace/definitions/definitions.h"
#include "report/trace/file/byte_source.h"
#include "report/trace/file/chunk_index.h"
#include "report/trace/file/field_cursor.h"
#include "report/trace/file/problems.h"

namespace peakline::report {

// Equal blocks of one context.
struct SummaryGroup {
    uint32_t context = 0;
    uint64_t requested_bytes = 0;
    uint64_t block_bytes = 0;
    uint64_t count = 0;
    uint32_t stream = 0;
};

struct SummaryView {
    uint32_t device = 0;
    format::Measure measure = format::Measure::kAllocated;
    uint64_t peak_bytes = 0;
    uint64_t peak_tick = 0;
    uint64_t level_bytes = 0;
    uint64_t total_allocated_bytes = 0;
    uint64_t alloc_count = 0;
    uint64_t free_count = 0;
    std::vector<SummaryGroup> at_peak;
    std::vector<SummaryGroup> live;
};

// See Note [Views at the end] in trace_format.h.
struct ViewsEnd {
    uint64_t event_count = 0;
    uint64_t tick = 0;  // end of main
};

struct Summary {
    std::vector<SummaryView> views;
    std::optional<ViewsEnd> views_end;  // valid if TraceReader::whole_views() returns them
    uint64_t records_dropped = 0;
    uint64_t bytes_dropped = 0;
    // As written; valid if TraceReader::whole_totals() returns them.
    std::optional<RecordedTotals> totals;
    // The bodies of records that were added, see writer/added_record.h.
    std::vector<unsigned char> outline, sources;
};

// False when a record is shorter than its fields or out of bounds.
bool decode_view(FieldCursor cursor, SummaryView* view);
bool decode_group(FieldCursor cursor,
                  const Definitions& definitions,
                  std::vector<SummaryGroup>& groups);

// Reads all SUMMARY chunks in file order; a view written again replaces the earlier one.
Summary read_summary(const ByteSource& source,
                     const std::vector<ChunkEntry>& chunks,
                     const Definitions& definitions,
                     Problems& problems);

}  // namespace peakline::report
