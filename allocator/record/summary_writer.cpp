#include "summary_writer.h"

#include <algorithm>

namespace peakline::record {
namespace {

using format::Measure;
using format::SummaryType;

template <class Record>
uint64_t* put_fields(const Record& record, uint64_t* out) {
    const auto fields = format::fields_of(record);
    return std::copy(fields.begin(), fields.end(), out);
}

void put_groups(TraceWriter& writer, SummaryType type, const MappedArray<BlockGroup>& groups) {
    for (const BlockGroup& group : groups) {
        const uint64_t values[] = {
            group.context, group.requested_bytes, group.block_bytes, group.count, group.stream};
        writer.put_summary(type, values, 5);
    }
}

// Limits for a view at the end of a whole trace; a group takes some ten bytes.
constexpr uint64_t kMostEndGroups = 2000;
constexpr uint64_t kEventsPerEndGroup = 64;

struct Counts {
    uint64_t allocs;
    uint64_t frees;
};

void put_view(TraceWriter& writer,
              ViewOf view,
              const PeakTracker& tracker,
              uint64_t level_bytes,
              Counts counts) {
    const uint64_t values[] = {view.device,
                               static_cast<uint64_t>(view.measure),
                               tracker.peak_bytes(),
                               tracker.peak_tick(),
                               level_bytes,
                               tracker.total_allocated_bytes(),
                               counts.allocs,
                               counts.frees};
    writer.put_summary(SummaryType::kView, values, 8);
}

// The state of this moment.
void put_view(TraceWriter& writer, ViewOf view, const PeakTracker& tracker, Counts counts) {
    put_view(writer, view, tracker, tracker.level_bytes(), counts);
}

}  // namespace

void SummaryWriter::put_views() {
    for (uint32_t device = 0; device < format::kDeviceCount; ++device) {
        if (of_.devices[device].used) {
            put_view_groups({device, Measure::kAllocated});
            put_view_groups({device, Measure::kRequested});
        }
    }
    put_trouble();
}

void SummaryWriter::put_view_groups(ViewOf view) {
    const DeviceLevels& device = of_.devices[view.device];
    const PeakTracker& tracker = device.tracker(view.measure);
    put_view(writer_, view, tracker, {device.allocs, device.frees});
    MappedArray<BlockGroup> groups;
    if (gather_peak_groups(tracker, of_.live_set, view, groups)) {
        put_groups(writer_, SummaryType::kPeakGroup, groups);
    }
    if (gather_live_groups(of_.live_set, view, groups)) {
        put_groups(writer_, SummaryType::kLiveGroup, groups);
    }
}

void SummaryWriter::put_trouble() {
    const uint64_t trouble[] = {of_.records_dropped, of_.bytes_dropped};
    writer_.put_summary(SummaryType::kTrouble, trouble, 2);
}

// ---- the end of a whole trace -----------------------------------------------------------------

void SummaryWriter::put_end_views() {
    for (uint32_t device = 0; device < format::kDeviceCount; ++device) {
        const DeviceLevels& levels = of_.devices[device];
        const bool is_in_trace = levels.used && levels.allocs != levels.allocs_before_trace;
        if (is_in_trace && (!put_end_view({device, Measure::kAllocated}) ||
                            !put_end_view({device, Measure::kRequested}))) {
            return;
        }
    }
    writer_.put_views_end();
}

// False if the view is not exact, or if its groups would make a short file much longer: reading
// its events takes little time.
bool SummaryWriter::put_end_view(ViewOf view) {
    const DeviceLevels& device = of_.devices[view.device];
    const PeakTracker& tracker = device.tracker(view.measure);
    MappedArray<BlockGroup> groups;
    if (tracker.side_dropped_count() != 0 ||
        !gather_peak_groups(tracker, of_.live_set, view, groups) ||
        groups.size() > kMostEndGroups + writer_.event_count() / kEventsPerEndGroup) {
        return false;
    }
    uint64_t live_count = 0;
    of_.live_set.for_each(
        [&](const LiveBlock& block) { live_count += view.counts(block) ? 1 : 0; });
    const uint64_t allocs = device.allocs - device.allocs_before_trace;
    const uint64_t level_bytes = writer_.main_end_tick() == 0          ? tracker.level_bytes()
                                 : view.measure == Measure::kAllocated ? device.end_allocated_bytes
                                                                       : device.end_requested_bytes;
    put_view(writer_, view, tracker, level_bytes, {allocs, allocs - live_count});
    put_groups(writer_, SummaryType::kPeakGroup, groups);
    return true;
}

// ---- checkpoints ------------------------------------------------------------------------------

void SummaryWriter::put_checkpoint() {
    for (uint32_t device = 0; device < format::kDeviceCount; ++device) {
        DeviceLevels& levels = of_.devices[device];
        if (!levels.used) {
            continue;
        }
        const ViewOf allocated{device, Measure::kAllocated};
        const ViewOf requested{device, Measure::kRequested};
        levels.allocated_groups.update(levels.allocated, of_.live_set, allocated);
        levels.requested_groups.update(levels.requested, of_.live_set, requested);
        put_view(writer_, allocated, levels.allocated, {levels.allocs, levels.frees});
        put_groups(writer_, SummaryType::kPeakGroup, levels.allocated_groups.groups);
        put_view(writer_, requested, levels.requested, {levels.allocs, levels.frees});
        put_groups(writer_, SummaryType::kPeakGroup, levels.requested_groups.groups);
    }
    put_phases();
    put_baseline();
    put_step_history();
    put_refusals();
    put_trouble();
    const uint64_t dropped_phases = of_.phases.dropped_count();
    writer_.put_summary(SummaryType::kLimits, &dropped_phases, 1);
}

void SummaryWriter::put_phases() {
    of_.phases.gather(of_.live_set);
    for (uint32_t i = 0; i < of_.phases.view_count(); ++i) {
        const PhasePeaks::View& view = of_.phases.views()[i];
        const uint64_t values[] = {view.phase, of_.phases.depth_of(view.phase)};
        writer_.put_summary(SummaryType::kPhase, values, 2);
        put_view(writer_, {view.device, Measure::kAllocated}, view.allocated, {0, 0});
        put_groups(writer_, SummaryType::kPeakGroup, view.allocated_groups.groups);
        put_view(writer_, {view.device, Measure::kRequested}, view.requested, {0, 0});
        put_groups(writer_, SummaryType::kPeakGroup, view.requested_groups.groups);
    }
    for (uint32_t i = 0; i < of_.phases.open_count(); ++i) {
        const PhasePeaks::OpenPhase& open = of_.phases.open_phases()[i];
        const uint64_t values[] = {open.phase, open.depth};
        writer_.put_summary(SummaryType::kPhase, values, 2);
    }
}

void SummaryWriter::put_baseline() {
    of_.live_set.for_each([this](const LiveBlock& block) {
        const bool is_deferred = (block.flags & kFreeRequested) != 0;
        writer_.put_baseline_block(AllocEvent{block.address,
                                              block.requested_bytes,
                                              block.block_bytes,
                                              block.context,
                                              block.stream,
                                              block.device},
                                   of_.next_ordinal - block.ordinal,
                                   is_deferred ? uint32_t{format::kBlockDeferred} : 0);
    });
}

void SummaryWriter::put_step_history() {
    if (!of_.steps.is_whole()) {
        return;
    }
    const uint64_t head[] = {static_cast<uint64_t>(of_.steps.source()),
                             of_.steps.step_count(),
                             of_.steps.steps_per_sample(),
                             of_.steps.may_go_on(of_.next_ordinal) ? 1U : 0U};
    writer_.put_summary(SummaryType::kStepHistory, head, std::size(head));
    size_t at = 0;
    for (const StepHistory::Sample& sample : of_.steps.samples()) {
        const StepHistory::Moment& moment = sample.at;
        const uint64_t values[] = {
            moment.tick, moment.next_ordinal, moment.level_bytes, moment.peak_bytes};
        writer_.put_summary(SummaryType::kStepSample, values, 4);
        for (; at < sample.change_end; ++at) {
            const StepHistory::Change& change = of_.steps.changes()[at];
            const auto [context, device] = of_.steps.key_of(change.slot);
            const uint64_t fields[] = {context,
                                       device,
                                       format::zigzag(change.block_bytes),
                                       format::zigzag(change.requested_bytes),
                                       format::zigzag(change.count)};
            writer_.put_summary(SummaryType::kLevelChange, fields, 5);
        }
    }
    const uint64_t sample_count = of_.steps.samples().size();
    writer_.put_summary(SummaryType::kStepHistoryEnd, &sample_count, 1);
}

void SummaryWriter::put_refusals() {
    for (size_t i = 0; i < of_.refusals.kept_count(); ++i) {
        const RefusalHistory::Refused& one = of_.refusals.kept(i);
        uint64_t values[TraceWriter::kMaxSummaryValues] = {one.tick};
        uint64_t* out = put_fields(one.refusal, put_fields(one.request, values + 1));
        for (const uint64_t value :
             {one.pool, one.live_bytes, one.reserved_bytes, one.waiting_bytes}) {
            *out++ = value;
        }
        writer_.put_summary(SummaryType::kRefused, values, static_cast<size_t>(out - values));
        put_groups(writer_, SummaryType::kRefusedGroup, of_.refusals.groups(i));
    }
    const uint64_t count = of_.refusals.count();
    writer_.put_summary(SummaryType::kRefusalsEnd, &count, 1);
}

}  // namespace peakline::record
