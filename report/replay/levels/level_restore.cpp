// Starts a replay at a checkpoint: restores the recorder's state there.
#include <algorithm>

#include "level_replay.h"
#include "report/replay/blocks/out_of_memory.h"
#include "summary_blocks.h"

namespace peakline::report {
namespace {

using format::Measure;

void restore_view(DeviceView& view, uint64_t level_bytes, const SummaryView* peak) {
    if (peak == nullptr) {
        view.tracker.restore(level_bytes, 0, 0, 0);
        return;
    }
    view.tracker.restore(
        level_bytes, peak->peak_bytes, peak->peak_tick, peak->total_allocated_bytes);
    view.alloc_count = peak->alloc_count;
    view.free_count = peak->free_count;
}

}  // namespace

void LevelReplay::restore(const Checkpoint& checkpoint) {
    if (moment_tick_ < checkpoint.tick) {
        throw TraceError(reader_.name() + ": --at " + std::to_string(request_.moment.seconds) +
                         " lies before the events that this trace keeps, from t=" +
                         std::to_string(reader_.seconds(checkpoint.tick)) +
                         " s; record with --keep all");
    }
    for (size_t i = 0; i < trackers_.size(); ++i) {
        restore_trackers(i, checkpoint);
    }
    tracing_ = checkpoint.tracing;
    if (checkpoint.refusals && !checkpoint.refusals->last.empty()) {
        const EarlierRefusal& last = checkpoint.refusals->last.back();
        out_of_memory_ = out_of_memory_at(last.tick, last.request, reader_.definitions());
        out_of_memory_.count = checkpoint.refusals->count;
    }
    for (const PhaseSummary& phase : checkpoint.phases) {
        if (phase_index_.has_value() &&
            reader_.definitions().text(phase.name) == request_.moment.phase) {
            phase_tracked_ = phase_tracked_ || !phase.views.empty();
        }
    }
    update_tracking(checkpoint.tick);
}

// A checkpoint has no peak for the sum of several GPUs: the sum counts from there.
void LevelReplay::restore_trackers(size_t index, const Checkpoint& checkpoint) {
    DeviceTrackers& trackers = trackers_[index];
    trackers.set_newest_ordinal(checkpoint.blocks.size());
    const auto is_ours = [&trackers](const SummaryView& view) {
        return view.measure == trackers.measure();
    };
    const auto& views = checkpoint.views;
    const bool sums = trackers.slot_of(1) == 0;
    const auto is_summed = [&](const SummaryView& view) {
        return sums && is_ours(view) && !format::is_of_host(view.device);
    };
    const bool adds_up = std::count_if(views.begin(), views.end(), is_summed) > 1;
    sum_is_cut_ = sum_is_cut_ || adds_up;
    uint64_t sum_bytes = 0;
    for (const SummaryView& view : views) {
        if (!is_ours(view)) {
            continue;
        }
        sum_bytes += is_summed(view) ? view.level_bytes : 0;
        const SummaryView* peak = adds_up && is_summed(view)
                                      ? nullptr
                                      : restored_view(index, view.device, trackers.measure());
        restore_view(
            trackers.view_of(view.device), is_summed(view) ? sum_bytes : view.level_bytes, peak);
    }
}

// The view with the tracker's peak at the checkpoint; nullptr when it had none.
const SummaryView* LevelReplay::restored_view(size_t index,
                                              uint32_t device,
                                              Measure measure) const {
    const Checkpoint* checkpoint = reader_.checkpoint();
    if (phase_index_ != index) {
        return checkpoint->view(device, measure);
    }
    for (const PhaseSummary& phase : checkpoint->phases) {
        const SummaryView* view = find_view(phase.views, device, measure);
        if (view != nullptr && reader_.definitions().text(phase.name) == request_.moment.phase) {
            return view;
        }
    }
    return nullptr;
}

// The blocks of a peak before the kept events.
LiveBlocks LevelReplay::restored_blocks(size_t index, uint32_t slot) const {
    const DeviceTrackers& trackers = trackers_[index];
    uint32_t device = slot;
    if (trackers.slot_of(1) == 0 && !format::is_of_host(slot) &&
        !reader_.checkpoint()->views.empty()) {
        device = reader_.checkpoint()->views.front().device;
    }
    const SummaryView* view = restored_view(index, device, trackers.measure());
    return view == nullptr ? LiveBlocks() : blocks_of(*view, view->at_peak, view->peak_bytes);
}

}  // namespace peakline::report
