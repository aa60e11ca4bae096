#include "asked_blocks.h"

#include "report/views/ledger/driver_levels.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {

AskedBlocks replay_for_keys(const TraceReader& reader,
                            const Selection& selection,
                            Detail detail,
                            BlockKeys& keys,
                            const PathDisplay& paths,
                            const Progress& progress) {
    if (selection.driver_measure) {
        refuse_host(selection, "--measure reserved and device");
    }
    ReplayRequest request = selection.request;
    const bool by_itself = detail != Detail::kGroups || keys.follow_blocks();
    const Detail single = detail == Detail::kLives ? detail : Detail::kBlocks;
    request.detail = by_itself && reader.has_events() ? single : Detail::kGroups;
    request.needs_tensors = keys.read_tensors();
    if (request.detail != Detail::kGroups || request.moment.kind == MomentKind::kPhase) {
        request.phase_rules = &keys.stacks().phase_rules();
    }
    AskedBlocks asked = {
        selection.driver_measure
            ? replay_driver(reader, selection, keys.stacks().phase_rules(), progress)
            : replay(reader, request, progress),
        {}};
    LiveBlocks& blocks = asked.result.blocks;
    if (request.detail != Detail::kGroups && !selection.driver_measure) {
        keys.group(asked.result.phases, &blocks);
    }
    if (!selection.where.empty()) {
        BlockFilter filter(selection.where, keys, texts_of_labels(paths));
        leave_out(filter, request.measure, &blocks);
        asked.part.unmatched = filter.unmatched();
    }
    asked.part.total_bytes = blocks.level_bytes;
    asked.part.shown_bytes = blocks.level_bytes - blocks.left_out_bytes;
    return asked;
}

}  // namespace peakline::report
