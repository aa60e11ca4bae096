#include "outline.h"

#include "report/attribute/block_keys.h"
#include "report/replay/replay.h"

namespace peakline::report {
namespace {

constexpr const char* kKeys[] = {"line", "module", "op", "category"};

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
        BlockKeys keys({&find_grouping(by)}, 1, stacks);
        if (follows_blocks) {
            keys.group(outline.result.phases, &blocks);
        }
        outline.rows.push_back({by, build_table(blocks, request.measure, keys)});
    }
    return outline;
}

}  // namespace peakline::report
