#include "summary_replay.h"

#include <algorithm>
#include <string>

#include "choose_device.h"
#include "report/replay/blocks/out_of_memory.h"
#include "report/trace/file/trace_error.h"
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

void check_answerable(const TraceReader& reader, const ReplayRequest& request, size_t gpus) {
    const bool needs_events =
        request.moment.kind != MomentKind::kPeak && request.moment.kind != MomentKind::kEnd;
    if (needs_events) {
        throw TraceError(reader.name() +
                         ": holds a summary only, which knows the peak and the end;"
                         " use --at peak or --at end, or record with events");
    }
    if (request.device.kind == DeviceChoiceKind::kAll && gpus > 1) {
        throw TraceError(reader.name() +
                         ": holds a summary only, which knows each GPU by itself;"
                         " use --device N, or record with events");
    }
}

// Returns the devices, the chosen one and its live blocks.
ReplayResult result_of(const TraceReader& reader, const ReplayRequest& request) {
    const std::vector<SummaryView>& views = reader.summary().views;
    ReplayResult result;
    for (const SummaryView& view : views) {
        auto& list = view.measure == request.measure ? result.devices : result.other_measure;
        list.push_back(totals_of(view));
    }
    result.is_sum = request.device.kind == DeviceChoiceKind::kAll;
    result.chosen = choose_device(result.devices, request.device, reader.name());
    const SummaryView* view = find_view(views, result.chosen.device, request.measure);
    if (view != nullptr) {
        result.blocks = request.moment.kind == MomentKind::kPeak
                            ? blocks_of(*view, view->at_peak, view->peak_bytes)
                            : blocks_of(*view, view->live, view->level_bytes);
    }
    result.health.clean_end = true;
    result.health.problems = reader.problems();
    return result;
}

size_t gpu_count(const Summary& summary) {
    const auto count =
        std::count_if(summary.views.begin(), summary.views.end(), [](const SummaryView& view) {
            return !format::is_of_host(view.device);
        });
    return static_cast<size_t>(count) / 2;  // each in both measures
}

// True when a pass over the events would find nothing more.
bool is_sound(const TraceReader& reader, const RecordedTotals& totals) {
    const Definitions& definitions = reader.definitions();
    return totals.extended_count(format::ExtendedType::kLoss) == 0 &&
           totals.extended_count(format::ExtendedType::kStopped) == 0 &&
           std::all_of(reader.summary().views.begin(),
                       reader.summary().views.end(),
                       [](const SummaryView& view) { return view.peak_bytes != 0; }) &&
           std::all_of(totals.value_reads.begin(),
                       totals.value_reads.end(),
                       [&definitions](const ValueRead& reads) {
                           return definitions.contexts.has(reads.context);
                       });
}

OutOfMemory last_out_of_memory(const TraceReader& reader, const RecordedTotals& totals) {
    if (!totals.out_of_memory.has_value()) {
        return {};
    }
    const RecordedOutOfMemory& failed = *totals.out_of_memory;
    OutOfMemory result = out_of_memory_at(failed.tick, failed.last, reader.definitions());
    result.count = totals.extended_count(format::ExtendedType::kOutOfMemory);
    return result;
}

}  // namespace

ReplayResult replay_summary(const TraceReader& reader, const ReplayRequest& request) {
    check_answerable(reader, request, gpu_count(reader.summary()));
    ReplayResult result = result_of(reader, request);
    const Summary& summary = reader.summary();
    const SummaryView* view = find_view(summary.views, result.chosen.device, request.measure);
    if (view != nullptr) {
        result.health.event_count = view->alloc_count + view->free_count;
        result.health.last_tick = view->peak_tick;
    }
    result.health.records_dropped = summary.records_dropped;
    result.health.bytes_dropped = summary.bytes_dropped;
    return result;
}

std::optional<ReplayResult> replay_recorded_end(const TraceReader& reader,
                                                const ReplayRequest& request) {
    const ViewsEnd* end = reader.whole_views();
    const bool is_of_many =
        request.device.kind == DeviceChoiceKind::kAll && gpu_count(reader.summary()) > 1;
    if (end == nullptr || request.moment.kind != MomentKind::kPeak || is_of_many ||
        request.detail != Detail::kGroups || request.needs_tensors ||
        !is_sound(reader, *reader.whole_totals())) {
        return std::nullopt;
    }
    ReplayResult result = result_of(reader, request);
    const RecordedTotals& totals = *reader.whole_totals();
    if (!request.with_other_measure) {
        result.other_measure.clear();
    }
    result.value_reads = totals.value_reads;
    result.out_of_memory = last_out_of_memory(reader, totals);
    result.health.event_count = end->event_count;
    result.health.last_tick = end->tick;
    return result;
}

}  // namespace peakline::report
