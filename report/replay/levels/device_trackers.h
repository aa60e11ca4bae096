// The peaks of one measure: one tracker for each device, or one for the sum of the GPUs, over the
// ranges in which tracking is on. Replay keeps one of these for every requested combination.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "allocator/record/levels/peak_tracker.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/definitions/definitions.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {

// Whether devices are tracked alone or as a sum.
enum class DeviceSum { kEach, kAll };

inline uint64_t bytes_of(const AllocationShape& shape, format::Measure measure) {
    return measure == format::Measure::kAllocated ? shape.block_bytes : shape.requested_bytes;
}

// A tracker numbers allocations from 1, so that 0 means "before the first".
inline uint64_t tracker_ordinal(uint64_t ordinal) {
    return ordinal + 1;
}

struct FreedBlock {
    uint64_t ordinal = 0;  // as the tracker counts
    AllocationShape shape;
};
using PeakTracker = record::PeakTrackerOf<FreedBlock>;

struct DeviceView {
    PeakTracker tracker;
    uint64_t alloc_count = 0;
    uint64_t free_count = 0;
    std::optional<uint64_t> end_level_bytes;  // at the end of main
};

class DeviceTrackers {
public:
    DeviceTrackers(format::Measure measure, DeviceSum sum, uint64_t max_alloc_count)
        : measure_(measure), sum_(sum), max_alloc_count_(max_alloc_count) {}

    format::Measure measure() const { return measure_; }

    void on_alloc(uint64_t ordinal, const AllocationShape& shape, uint64_t tick) {
        DeviceView& view = view_of(shape.device);
        newest_ordinal_ = tracker_ordinal(ordinal);
        if (shape.untraced) {
            view.tracker.on_untraced_alloc(newest_ordinal_, bytes_of(shape, measure_), tick);
        } else {
            view.tracker.on_alloc(newest_ordinal_, bytes_of(shape, measure_), tick);
        }
        ++view.alloc_count;
    }

    void on_free(uint64_t ordinal, const AllocationShape& shape) {
        DeviceView& view = view_of(shape.device);
        view.tracker.on_free({tracker_ordinal(ordinal), shape}, bytes_of(shape, measure_));
        ++view.free_count;
    }

    void start(uint64_t tick);
    void stop();
    // The program's main has ended: keeps these levels as the levels at the end.
    void end_main();
    // For a replay that begins at a checkpoint.
    void set_newest_ordinal(uint64_t block_count) { newest_ordinal_ = block_count; }

    uint32_t slot_of(uint32_t device) const {
        return sum_ == DeviceSum::kAll && !format::is_of_host(device) ? 0 : device;
    }
    // By slot; nullptr for a slot without events.
    const std::vector<std::unique_ptr<DeviceView>>& views() const { return views_; }

    DeviceView& view_of(uint32_t device) {
        const uint32_t slot = slot_of(device);
        if (slot < views_.size() && views_[slot] != nullptr) {
            return *views_[slot];
        }
        return add_view(slot);
    }

private:
    DeviceView& add_view(uint32_t slot);

    format::Measure measure_;
    DeviceSum sum_;
    uint64_t max_alloc_count_;
    uint64_t newest_ordinal_ = 0;
    bool tracking_ = false;
    bool was_tracking_ = false;
    bool main_has_ended_ = false;
    std::vector<std::unique_ptr<DeviceView>> views_;
};

// Totals of every slot with events.
std::vector<DeviceTotals> all_totals(const DeviceTrackers& trackers);

}  // namespace peakline::report
