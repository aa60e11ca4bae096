#include "asked_blocks.h"

#include <string>

#include "report/replay/values/device_names.h"
#include "report/trace/file/trace_error.h"
#include "report/views/ledger/driver_levels.h"

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

void refuse_where(const Selection& selection, const char* report) {
    if (!selection.where.empty()) {
        throw TraceError(std::string(report) +
                         " does not take --where; table, summary, tensors, timeline and stats do");
    }
}

void refuse_host(const Selection& selection, const char* report) {
    if (format::is_of_host(selection.request.device.number)) {
        const std::string word = device_word(selection.request.device.number);
        throw TraceError(std::string(report) + " is about a GPU, and --device " + word +
                         " is memory of the host; table, timeline, tensors, phases, layers and "
                         "html show that");
    }
}

}  // namespace peakline::report
