// Follows the phases of a stream of blocks, and their effect on the levels.
#pragma once

#include <vector>

#include "phase_follower.h"
#include "phase_result.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/levels/device_trackers.h"
#include "report/replay/values/level_meter.h"

namespace peakline::report {

struct PhaseRequest {
    format::Measure measure = format::Measure::kAllocated;
    bool sum_devices = false;
};

class PhaseReplay : public BlockFollower {
public:
    // `stream` and `rules` must outlive this.
    PhaseReplay(const BlockStream& stream, const PhaseRules& rules, const PhaseRequest& request)
        : stream_(stream),
          request_(request),
          totals_(request_.measure,
                  request_.sum_devices ? DeviceSum::kAll : DeviceSum::kEach,
                  stream.reader().max_alloc_count()),
          follower_(stream.definitions(), rules, meter_) {}

    // Blocks that were live at the checkpoint count as made there, in no phase.
    void restore(const Checkpoint& checkpoint);

    void on_alloc(const BlockAlloc& block) {
        const AllocationShape& shape = block.shape;
        last_thread_ = follower_.on_alloc(shape.context, block.ordinal, block.at);
        meter_.on_alloc(
            totals_.slot_of(shape.device), bytes_of(shape, request_.measure), block.at.tick);
        totals_.on_alloc(block.ordinal, shape, block.at.tick);
    }

    void on_free(const BlockFree& block) {
        follower_.on_free(block.ordinal, block.at);
        if (block.leaves(request_.measure)) {
            meter_.on_free(totals_.slot_of(block.shape.device),
                           bytes_of(block.shape, request_.measure));
            totals_.on_free(block.ordinal, block.shape);
        }
    }

    void on_main_end(EventTime) { totals_.end_main(); }
    void on_rare(const RareEvent& event, EventTime at);

    // The thread with the phases of the last allocation.
    uint32_t last_thread() const { return last_thread_; }

    // Call it after the pass.
    PhaseResult finish();

private:
    void restore_totals(DeviceView& totals, const SummaryView& view) const;
    void add_note(uint64_t tick, uint64_t text);

    // A greater depth is damage.
    static constexpr uint64_t kMaxRestoredDepth = 1000;

    const BlockStream& stream_;
    PhaseRequest request_;
    DeviceTrackers totals_;
    LevelMeter meter_;
    PhaseFollower follower_;
    uint32_t last_thread_ = 0;
    std::vector<TraceNote> notes_;
    uint64_t note_count_ = 0;
};

// Makes a pass of its own.
PhaseResult replay_phases(const TraceReader& reader,
                          const PhaseRules& rules,
                          const PhaseRequest& request,
                          const Progress& progress = {});

}  // namespace peakline::report
