// The parts of DeviceTrackers that run rarely.
#include "device_trackers.h"

#include <algorithm>

namespace peakline::report {
namespace {

DeviceTotals totals_of(const DeviceView& view, uint32_t device) {
    DeviceTotals totals;
    totals.device = device;
    totals.peak_bytes = view.tracker.peak_bytes();
    totals.peak_tick = view.tracker.peak_tick();
    totals.level_bytes = view.end_level_bytes.value_or(view.tracker.level_bytes());
    totals.total_allocated_bytes = view.tracker.total_allocated_bytes();
    totals.alloc_count = view.alloc_count;
    totals.free_count = view.free_count;
    return totals;
}

}  // namespace

std::vector<DeviceTotals> all_totals(const DeviceTrackers& trackers) {
    std::vector<DeviceTotals> all;
    for (uint32_t slot = 0; slot < trackers.views().size(); ++slot) {
        if (trackers.views()[slot] != nullptr) {
            all.push_back(totals_of(*trackers.views()[slot], slot));
        }
    }
    return all;
}

DeviceView& DeviceTrackers::add_view(uint32_t slot) {
    if (slot >= views_.size()) {
        views_.resize(slot + 1);
    }
    views_[slot] = std::make_unique<DeviceView>();
    DeviceView& view = *views_[slot];
    if (main_has_ended_) {
        view.end_level_bytes = 0;
    }
    // A side list never has more blocks than the trace has allocations: nothing is dropped.
    if (!view.tracker.init(static_cast<size_t>(max_alloc_count_ + 1))) {
        throw TraceError("no address space for the blocks of device " + std::to_string(slot) +
                         "; raise the limit (ulimit -v)");
    }
    // The level of a new device was 0 in all ranges so far: this is a peak, too, without blocks.
    if (was_tracking_) {
        view.tracker.start(newest_ordinal_, true, 0);
    }
    if (!tracking_) {
        view.tracker.stop();
    }
    return view;
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

void DeviceTrackers::end_main() {
    main_has_ended_ = true;
    for (const auto& view : views_) {
        if (view != nullptr) {
            view->end_level_bytes = view->tracker.level_bytes();
        }
    }
}

}  // namespace peakline::report
