// The memory maps of a page: at its highest moment, and where it ends. A pass of its own over the
// events, made once the highest moment is known.
#pragma once

#include <cstdint>
#include <optional>

#include "page_buckets.h"
#include "page_contexts.h"
#include "report/replay/all_facts.h"
#include "report/trace/reader.h"
#include "report/views/segments/memory_map.h"

namespace peakline::report {

struct PageMaps {
    std::optional<MemoryMap> at_peak;
    std::optional<MemoryMap> at_end;
};

struct MapRequest {
    format::Measure measure = format::Measure::kAllocated;
    uint32_t device = 0;
    uint64_t from_tick = 0;
    uint64_t to_tick = 0;
    Height peak;  // of what is shown
};

// Of a trace that has all events and knows its segments.
PageMaps build_maps(const TraceReader& reader,
                    const MapRequest& request,
                    const AllFacts& facts,
                    PageContexts& contexts,
                    const Progress& progress);

}  // namespace peakline::report
