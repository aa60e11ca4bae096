// What an HTML page is made of: contexts, points and moments of one device, the phases and the
// answer at the peak. Two passes over the events: what became of every block, then its levels.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "page_buckets.h"
#include "page_contexts.h"
#include "report/replay/phases/phase_result.h"
#include "report/trace/reader.h"
#include "selection.h"

namespace peakline::report {

struct PageLimits {
    size_t points = 65'536;
    size_t moments = 65'536;
    size_t changes = 6'000'000;  // kept while events are read: 24 bytes each
};

struct PageRequest {
    double from_seconds = 0;
    double to_seconds = std::numeric_limits<double>::infinity();
    PageLimits limits;
};

struct PageRow {
    uint32_t line = 0;
    uint64_t bytes = 0;
    uint64_t count = 0;
    CategoryLevels categories = {};
};

// The highest moment of what is shown.
struct PagePeak {
    size_t point = 0;
    size_t moment = 0;
    std::vector<PageRow> rows;  // largest first
};

struct Page {
    // A damaged trace may have any number of refused requests.
    static constexpr size_t kMaxRefused = 1000;

    PhaseResult phases;
    std::vector<OutOfMemory> refused;  // requests of the device that it could not serve
    DeviceTotals chosen;
    uint64_t event_count = 0;  // that changed the level of the device
    uint64_t end_tick = 0;     // of what is shown
    PageNames names;
    PagePoints points{0};
    PageMoments moments{0, 0};
};

// Throws TraceError when nothing lies in the range.
Page build_page(const TraceReader& reader,
                const Selection& selection,
                const PageRequest& request,
                StackLookup& stacks,
                const Progress& progress = {});

// Of a page whose moments have their final width.
PagePeak find_peak(const Page& page);

}  // namespace peakline::report
