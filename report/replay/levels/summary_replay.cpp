#include "summary_replay.h"

#include <algorithm>
#include <string>

#include "choose_device.h"
#include "report/trace/trace_error.h"
#include "summary_blocks.h"

namespace peakline::report {
namespace {

DeviceTotals totals_of(const SummaryView& view) {
    DeviceTotals totals;
    totals.device = view.device;
    totals.peak_bytes = view.peak_bytes;
    totals.peak_tick = view.peak_tick;
    totals.level_bytes = view.level_bytes;
    totals.total_allocated_bytes = view.total_allocated_bytes;
    totals.alloc_count = view.alloc_count;
    totals.free_count = view.free_count;
    return totals;
}

}  // namespace

LiveBlocks blocks_of(const SummaryView& view,
                     const std::vector<SummaryGroup>& groups,
                     uint64_t level_bytes) {
    LiveBlocks blocks;
    blocks.level_bytes = level_bytes;
    uint64_t sum = 0;
    for (const SummaryGroup& group : groups) {
        blocks.groups.push_back({group.context,
                                 group.stream,
                                 view.device,
                                 group.requested_bytes,
                                 group.block_bytes,
                                 group.count,
                                 0});
        sum += group.count * (view.measure == format::Measure::kAllocated ? group.block_bytes
                                                                          : group.requested_bytes);
    }
    blocks.unknown_bytes = static_cast<int64_t>(level_bytes - sum);
    return blocks;
}

namespace {

void check_answerable(const TraceReader& reader, const ReplayRequest& request, size_t devices) {
    const bool needs_events =
        request.moment.kind == MomentKind::kTime || request.moment.kind == MomentKind::kPhase;
    if (needs_events) {
        throw TraceError(reader.name() +
                         ": holds a summary only, which knows the peak and the end;"
                         " use --at peak or --at end, or record with events");
    }
    if (request.device.kind == DeviceChoiceKind::kAll && devices > 1) {
        throw TraceError(reader.name() +
                         ": holds a summary only, which knows each device by itself;"
                         " use --device N, or record with events");
    }
}

}  // namespace

ReplayResult replay_summary(const TraceReader& reader, const ReplayRequest& request) {
    const Summary& summary = reader.summary();
    ReplayResult result;
    for (const SummaryView& view : summary.views) {
        auto& list = view.measure == request.measure ? result.devices : result.other_measure;
        list.push_back(totals_of(view));
    }
    check_answerable(reader, request, result.devices.size());
    result.is_sum = request.device.kind == DeviceChoiceKind::kAll;
    result.chosen = choose_device(result.devices, request.device, reader.name());
    const SummaryView* view = find_view(summary.views, result.chosen.device, request.measure);
    if (view != nullptr) {
        result.blocks = request.moment.kind == MomentKind::kPeak
                            ? blocks_of(*view, view->at_peak, view->peak_bytes)
                            : blocks_of(*view, view->live, view->level_bytes);
        result.health.event_count = view->alloc_count + view->free_count;
        result.health.last_tick = view->peak_tick;
    }
    result.health.clean_end = true;
    result.health.records_dropped = summary.records_dropped;
    result.health.bytes_dropped = summary.bytes_dropped;
    result.health.problems = reader.problems();
    return result;
}

}  // namespace peakline::report
