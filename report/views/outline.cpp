#include "outline.h"

#include "report/attribute/facets.h"
#include "report/attribute/grouping.h"
#include "report/replay/replay.h"

namespace peakline::report {
namespace {

constexpr const char* kKeys[] = {"line", "module", "op", "category"};

Facet no_facet(const TrackedBlock&, const BlockHistory&, FacetHelp&) {
    return {};
}

}  // namespace

Outline build_outline(const TraceReader& reader,
                      const Selection& selection,
                      StackLookup& stacks,
                      const Progress& progress) {
    ReplayRequest request = selection.request;
    request.moment = Moment();
    const bool follows_blocks = reader.has_events();
    if (follows_blocks) {
        request.detail = Detail::kBlocks;
        request.phase_rules = &stacks.phase_rules();
    }
    Outline outline;
    outline.result = replay(reader, request, progress);
    LiveBlocks& blocks = outline.result.blocks;
    for (const char* by : kKeys) {
        const Grouping& grouping = find_grouping(by);
        if (follows_blocks) {
            FacetOfBlock* const facet = grouping.facet != nullptr ? grouping.facet : no_facet;
            group_by_facet(facet, stacks, outline.result.phases, &blocks);
        }
        outline.rows.push_back({by, build_table(blocks, request.measure, grouping, stacks)});
    }
    return outline;
}

}  // namespace peakline::report
