// Follows the levels of a stream of blocks: the peak, or another requested moment, and its live
// set.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "device_trackers.h"
#include "report/replay/blocks/block_groups.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/values/replay_result.h"

namespace peakline::report {

class LevelReplay : public BlockFollower {
public:
    // Both must outlive the replay.
    LevelReplay(const BlockStream& stream, const ReplayRequest& request);

    // Throws TraceError when the requested moment is before the checkpoint.
    void restore(const Checkpoint& checkpoint);

    // Keeps the live blocks of the requested moment, and follows the requested phases.
    void before_event(EventTime at) {
        if (at.tick > moment_tick_ && !at_moment_) {
            keep_moment();
        }
        if (at.event == next_boundary_) {
            pass_boundary(at.tick);
        }
    }

    void on_alloc(const BlockAlloc& block) {
        for (DeviceTrackers& trackers : trackers_) {
            trackers.on_alloc(block.ordinal, block.shape, block.at.tick);
        }
    }

    void on_free(const BlockFree& block) {
        for (DeviceTrackers& trackers : trackers_) {
            if (block.leaves(trackers.measure())) {
                trackers.on_free(block.ordinal, block.shape);
            }
        }
    }

    void on_main_end(EventTime at);
    void on_rare(const RareEvent& event, EventTime at);

    format::Measure measure() const { return request_.measure; }
    // The slot in the trackers of the requested devices or their sum.
    uint32_t slot_of(uint32_t device) const { return trackers_[requested_index_].slot_of(device); }
    // Whether the moment is a peak and this allocation made a higher one.
    bool is_new_peak(const BlockAlloc& block) const {
        const PeakTracker* const peak = requested_peak(block.shape.device);
        return peak != nullptr && peak->peak_ordinal() == tracker_ordinal(block.ordinal);
    }
    // Whether the block was live at the moment, as far as the moment is known yet.
    bool is_of_moment(const BlockFree& block) const {
        const PeakTracker* const peak = requested_peak(block.shape.device);
        return peak != nullptr ? peak->was_live_at_peak(tracker_ordinal(block.ordinal))
                               : at_moment_ && block.ordinal < moment_ordinal_;
    }

    // Call it after the pass. Throws TraceError when the stream has no such moment.
    ReplayResult finish();

private:
    // Throws TraceError when the requested moment is after the end.
    void check_moment() const;
    void check_traced() const;
    void add_problems(ReplayResult* result) const;
    void restore_trackers(size_t index, const Checkpoint& checkpoint);
    const SummaryView* restored_view(size_t index, uint32_t device, format::Measure measure) const;
    LiveBlocks restored_blocks(size_t index, uint32_t slot) const;
    // The tracker whose peak is the requested moment; nullptr when the moment is not a peak.
    const PeakTracker* requested_peak(uint32_t device) const {
        const MomentKind kind = request_.moment.kind;
        if (kind != MomentKind::kPeak && kind != MomentKind::kPhase) {
            return nullptr;
        }
        const DeviceTrackers& trackers = trackers_[phase_index_.value_or(requested_index_)];
        const PeakTracker& tracker = trackers.views()[trackers.slot_of(device)]->tracker;
        return tracker.has_peak() ? &tracker : nullptr;
    }
    void keep_moment();
    void pass_boundary(uint64_t tick);
    void update_tracking(uint64_t tick);
    // The group of one block.
    BlockGroup group_of(uint64_t ordinal, const AllocationShape& shape) const;
    void collect_live(const DeviceTrackers& trackers,
                      uint32_t slot,
                      uint64_t end,
                      BlockGroups& groups) const;
    LiveBlocks live_blocks(const DeviceTrackers& trackers, uint32_t slot) const;
    LiveBlocks peak_blocks(size_t index, uint32_t slot) const;
    LiveBlocks requested_blocks(uint32_t slot) const;

    const BlockStream& stream_;
    const TraceReader& reader_;
    const ReplayRequest& request_;
    std::vector<DeviceTrackers> trackers_;
    // Indices in trackers_: the requested devices or their sum; the same within the phase; each
    // device in the other measure. Index 0 is each device.
    size_t requested_index_ = 0;
    std::optional<size_t> phase_index_;
    std::optional<size_t> other_measure_index_;
    uint64_t moment_tick_ = UINT64_MAX;
    bool at_moment_ = false;
    uint64_t moment_ordinal_ = 0;            // the first allocation after the moment
    std::vector<LiveBlocks> moment_blocks_;  // by slot of the requested trackers
    bool tracing_ = false;
    size_t next_range_ = 0;
    uint64_t next_boundary_ = UINT64_MAX;
    bool in_phase_ = false;
    bool phase_tracked_ = false;
    bool sum_is_cut_ = false;  // the sum of devices is known only from the checkpoint on
    ValueReadCounter value_reads_;
    OutOfMemory out_of_memory_;
};

}  // namespace peakline::report
