// The data of an HTML page: contexts, points and moments of one device, the phases and the result
// at the peak. Two passes over the events: the first for the life of every block, the second for
// the levels; a third one if the trace has torch's segments.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "page_buckets.h"
#include "page_contexts.h"
#include "page_growth.h"
#include "page_map.h"
#include "page_rows.h"
#include "page_tensors.h"
#include "page_totals.h"
#include "report/replay/phases/phase_result.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct PageLimits {
    size_t points = 65'536;
    size_t moments = 65'536;
    // A trace of at most this many events may have a point and a moment for each: a browser holds
    // some 200 bytes for a point.
    size_t every_event = 524'288;
    size_t changes = 6'000'000;  // kept while events are read: 24 bytes each
    size_t map_changes = 500'000;
    size_t growth_changes = 250'000;
    // Blocks shown one by one: all of a trace with a point for every event, else the largest.
    size_t tensors = 16'384;
};

struct PageRequest {
    double from_seconds = 0;
    double to_seconds = std::numeric_limits<double>::infinity();
    PageLimits limits;
};

// The highest moment of the shown range.
struct PagePeak {
    size_t point = 0;
    size_t moment = 0;
    std::vector<PageRow> rows;  // largest first
};

// A request that the device could not serve, and the live set then.
struct PageRefused {
    OutOfMemory request;
    size_t point = 0;  // index of its point
    uint64_t level_bytes = 0;
    CategoryLevels categories = {};
    std::vector<PageRow> rows;  // the largest
    size_t row_count = 0;       // number of all rows
    // Torch's segments on the device; nullopt in a trace without them.
    std::optional<uint64_t> reserved_bytes;
    uint64_t active_bytes = 0;  // live, or freed but still used by another stream
    uint64_t limit_bytes = 0;   // torch's limit on the device; 0: unknown
    uint64_t event = 0;

    // Bytes that the device could still give torch, within the limit of the process.
    uint64_t room_bytes() const;
    // Whether the limit leaves less than the device.
    bool is_over_limit() const { return room_bytes() < request.free_bytes; }
    uint64_t missing_bytes() const;
    // Bytes of torch's segments that no block uses; 0: unknown.
    uint64_t unused_bytes() const;
};

struct Page {
    // A damaged trace may have any number of refused requests.
    static constexpr size_t kMaxRefused = 1000;
    static constexpr size_t kMaxRefusedRows = 12;

    PhaseResult phases;
    std::vector<PageRefused> refused;
    DeviceTotals chosen;
    uint64_t event_count = 0;  // events that changed the level of the device
    uint64_t end_tick = 0;     // of the shown range
    PageNames names;
    PagePoints points{0};
    bool has_reserved = false;  // the trace has torch's segments
    PageMoments moments{0, 0};
    PageTotals totals;
    PageGrowth growth;
    PageTensors tensors;
    bool has_segments = false;  // for the shown device, the only one
    PageMap map;                // without moments if it has none, or if they are too large
};

// Throws TraceError when the range has no events.
Page build_page(const TraceReader& reader,
                const Selection& selection,
                const PageRequest& request,
                StackLookup& stacks,
                const Progress& progress = {});

// Where a drawing over time may end: after the last phase and the last allocation, with some room,
// if the process took much longer to exit; else the end.
uint64_t work_end_tick(const Page& page);

// For a page with the final width of moments.
PagePeak find_peak(const Page& page);

}  // namespace peakline::report
