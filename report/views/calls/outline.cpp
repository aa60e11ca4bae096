#include "outline.h"

#include <algorithm>

#include "report/attribute/block_keys.h"
#include "report/replay/replay.h"

namespace peakline::report {
namespace {

constexpr const char* kKeys[] = {"line", "module", "op", "category"};

// A trace of one GPU has no sum, and a bounded trace knows only the sum of its kept events.
bool has_sum(const TraceReader& reader, const ReplayRequest& request, const ReplayResult& result) {
    const auto is_gpu = [](const DeviceTotals& one) { return !format::is_of_host(one.device); };
    return request.device.kind == DeviceChoiceKind::kHighestPeak && reader.has_events() &&
           reader.checkpoint() == nullptr && is_gpu(result.chosen) &&
           std::count_if(result.devices.begin(), result.devices.end(), is_gpu) > 1;
}

std::vector<OutlineRows> rows_of(ReplayResult& result,
                                 const ReplayRequest& request,
                                 StackLookup& stacks) {
    std::vector<OutlineRows> rows;
    for (const char* by : kKeys) {
        BlockKeys keys({&find_grouping(by)}, 1, stacks);
        if (request.phase_rules != nullptr) {
            keys.group(result.phases, &result.blocks);
        }
        rows.push_back({by, build_table(result.blocks, request.measure, keys)});
    }
    return rows;
}

}  // namespace

Outline build_outline(const TraceReader& reader,
                      const Selection& selection,
                      StackLookup& stacks,
                      const Progress& progress) {
    ReplayRequest request = selection.request;
    request.moment = Moment();
    if (reader.has_events()) {
        request.detail = Detail::kBlocks;
        request.needs_tensors = true;
        request.phase_rules = &stacks.phase_rules();
    }
    Outline outline;
    outline.result = replay(reader, request, progress);
    outline.rows = rows_of(outline.result, request, stacks);
    if (has_sum(reader, request, outline.result)) {
        request.device.kind = DeviceChoiceKind::kAll;
        ReplayResult sum = replay(reader, request, progress);
        outline.rows_of_all = rows_of(sum, request, stacks);
    }
    return outline;
}

}  // namespace peakline::report
