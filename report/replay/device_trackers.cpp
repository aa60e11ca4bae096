// The parts of DeviceTrackers that run rarely.
#include "device_trackers.h"

#include <algorithm>

namespace peakline::report {

DeviceView& DeviceTrackers::add_view(uint32_t slot) {
    if (slot >= views_.size()) {
        views_.resize(slot + 1);
    }
    views_[slot] = std::make_unique<DeviceView>();
    DeviceView& view = *views_[slot];
    // A side list never holds more blocks than the trace has allocations: nothing is dropped.
    if (!view.tracker.init(static_cast<size_t>(max_alloc_count_ + 1))) {
        throw TraceError("no address space for the blocks of device " + std::to_string(slot) +
                         "; raise the limit (ulimit -v)");
    }
    // Its level was 0 through all ranges so far: that is a peak too, of no block.
    if (was_tracking_) {
        view.tracker.start(newest_ordinal_, true, 0);
    }
    if (!tracking_) {
        view.tracker.stop();
    }
    return view;
}

// Note [Baseline at the peak]
// Every new peak is higher than the one before, so the peak has moved since the last change of
// the baseline exactly when its height has: then the baseline of now was the baseline then.
void DeviceTrackers::note_baseline_at_peak(DeviceView& view) {
    const bool has_peak = view.tracker.has_peak();
    if (has_peak != view.peak_seen || view.tracker.peak_bytes() != view.peak_seen_bytes) {
        view.baseline_at_peak_bytes = view.baseline_bytes;
        view.peak_seen = has_peak;
        view.peak_seen_bytes = view.tracker.peak_bytes();
    }
}

bool DeviceTrackers::on_baseline(uint32_t device, int64_t bytes, uint64_t tick) {
    DeviceView& view = view_of(device);
    note_baseline_at_peak(view);
    if (bytes < 0) {
        const uint64_t leaving = -static_cast<uint64_t>(bytes);
        if (leaving > view.tracker.level_bytes()) {
            return false;
        }
        record::LiveBlock block = {};
        block.ordinal = UINT64_MAX;  // in no live set
        view.tracker.on_free(block, leaving);
    } else {
        view.tracker.on_untraced_alloc(newest_ordinal_, static_cast<uint64_t>(bytes), tick);
    }
    view.baseline_bytes += bytes;
    return true;
}

void DeviceTrackers::start(uint64_t tick) {
    tracking_ = was_tracking_ = true;
    for (const auto& view : views_) {
        if (view != nullptr) {
            view->tracker.start(newest_ordinal_, true, tick);
        }
    }
}

void DeviceTrackers::stop() {
    tracking_ = false;
    for (const auto& view : views_) {
        if (view != nullptr) {
            view->tracker.stop();
        }
    }
}

void DeviceTrackers::finish() {
    for (const auto& view : views_) {
        if (view != nullptr) {
            note_baseline_at_peak(*view);
        }
    }
}

}  // namespace peakline::report
