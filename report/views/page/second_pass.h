// The second pass over the events: levels, live sets, sums, growth, single blocks and refused
// requests of a page. The first one found phases, facts and the device.
#pragma once

#include <cstdint>
#include <vector>

#include "page.h"
#include "page_contexts.h"
#include "page_map.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/all_facts.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct ShownRange {
    uint64_t from_tick;
    uint64_t to_tick;
};

struct SecondPass {
    const TraceReader& reader;
    const ReplayRequest& request;
    ShownRange range;
    const PageLimits& limits;
    const AllFacts& facts;
    StackLookup& stacks;
};

// `page` has its phases, its device, and empty points and moments. Returns the moments of a map
// besides the peak and the end, sorted by event; none if the trace has no segments.
std::vector<PageMapMoment> follow_levels(const SecondPass& pass,
                                         PageContexts& contexts,
                                         const Progress& progress,
                                         Page* page);

}  // namespace peakline::report
