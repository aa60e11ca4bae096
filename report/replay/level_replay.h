// The visitor behind replay(): follows levels, tracing and phases event by event.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "allocation_table.h"
#include "block_groups.h"
#include "device_trackers.h"
#include "event_health.h"
#include "replay_result.h"

namespace peakline::report {

class LevelReplay {
public:
    LevelReplay(const TraceReader& reader, const ReplayRequest& request);

    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t) {
        pass_event(tick);
        const AllocationShape* shape = table_.add_class(ordinal, class_id);
        next_ordinal_ = ordinal + 1;
        if (shape == nullptr) {
            ++health_.lost_definition_alloc_count;
            return;
        }
        for (DeviceTrackers& trackers : trackers_) {
            trackers.on_alloc(ordinal, *shape, tick);
        }
    }

    void on_alloc_inline(uint64_t ordinal, uint64_t tick, const AllocationShape& shape, uint64_t) {
        pass_event(tick);
        AllocationShape known = shape;
        known.context = reader_.definitions().known_context(shape.context);
        health_.unknown_context_count += reader_.definitions().is_lost(shape.context) ? 1 : 0;
        known.untraced = reader_.definitions().is_untraced(known.context);
        table_.add_inline(ordinal, known);
        next_ordinal_ = ordinal + 1;
        for (DeviceTrackers& trackers : trackers_) {
            trackers.on_alloc(ordinal, known, tick);
        }
    }

    void on_free(uint64_t ordinal, uint64_t tick, FreeKind kind, uint32_t) {
        pass_event(tick);
        const bool was_deferred = table_.is_deferred(ordinal);
        if (!table_.can_free(ordinal, kind)) {
            ++health_.unmatched_free_count;
            return;
        }
        const AllocationShape* shape = table_.shape(ordinal);
        if (shape != nullptr) {
            end_block(ordinal, *shape, was_deferred, kind);
        }
        table_.free(ordinal, kind);
    }

    void on_unmatched_free(uint64_t tick) {
        pass_event(tick);
        ++health_.unmatched_free_count;
    }

    void on_rare(uint64_t tick, const RareEvent& event);

    // Call after the last event; `totals` are those of the pass.
    ReplayResult finish(const EventTotals& totals);
    // Throws TraceError when the moment asked for lies after the end.
    void check_moment(const EventTotals& totals) const;

private:
    // A block leaves `allocated` when it is given up and `requested` when it can be reused.
    void end_block(uint64_t ordinal,
                   const AllocationShape& shape,
                   bool was_deferred,
                   FreeKind kind) {
        for (DeviceTrackers& trackers : trackers_) {
            const bool ends = trackers.measure() == format::Measure::kAllocated
                                  ? !was_deferred
                                  : kind != FreeKind::kDeferred;
            if (ends) {
                trackers.on_free(ordinal, shape);
            }
        }
    }

    // Called before each event: keeps the live blocks of the moment asked for, and follows the
    // phases asked for.
    void pass_event(uint64_t tick) {
        if (tick > moment_tick_ && !at_moment_) {
            keep_moment();
        }
        if (event_++ == next_boundary_) {
            pass_boundary(tick);
        }
    }

    void restore_checkpoint(const Checkpoint& checkpoint);
    void restore_trackers(size_t index, const Checkpoint& checkpoint);
    const SummaryView* restored_view(size_t index, uint32_t device, format::Measure measure) const;
    LiveBlocks restored_blocks(size_t index, uint32_t slot) const;
    void keep_moment();
    void end_main(uint64_t tick);
    void pass_boundary(uint64_t tick);
    void on_mark(uint64_t tick, const RareEvent& event);
    void update_tracking(uint64_t tick);
    void collect_live(const DeviceTrackers& trackers,
                      uint32_t slot,
                      uint64_t end,
                      BlockGroups& groups) const;
    LiveBlocks live_blocks(const DeviceTrackers& trackers, uint32_t slot) const;
    LiveBlocks peak_blocks(size_t index, uint32_t slot) const;
    LiveBlocks asked_blocks(uint32_t slot) const;

    const TraceReader& reader_;
    const ReplayRequest& request_;
    AllocationTable table_;
    std::vector<DeviceTrackers> trackers_;
    // Places in trackers_: each device; the devices or the sum that the request is about; the
    // same within the phase; each device in the other measure.
    size_t asked_index_ = 0;
    std::optional<size_t> phase_index_;
    std::optional<size_t> other_measure_index_;
    uint64_t next_ordinal_ = 0;
    uint64_t moment_tick_ = UINT64_MAX;
    bool at_moment_ = false;
    std::optional<uint64_t> end_tick_;       // of main; without: the end of the trace
    std::vector<LiveBlocks> moment_blocks_;  // by slot of the asked trackers
    bool tracing_ = false;
    uint64_t event_ = 0;
    size_t next_range_ = 0;
    uint64_t next_boundary_ = UINT64_MAX;
    bool in_phase_ = false;
    bool phase_tracked_ = false;
    bool sum_is_cut_ = false;  // the sum of devices is known from the checkpoint on only
    EventHealth health_;
    ValueReadCounter value_reads_;
    OutOfMemory out_of_memory_;
};

}  // namespace peakline::report
