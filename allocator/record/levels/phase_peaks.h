// The open phases and, for recordings that keep peaks instead of events, the exact peak of every
// named phase on every device. Used by the recorder under its lock. Never calls malloc.
//
// Note [Phases]
// A phase counts while it is open at least once, in any thread, and tracing is on: the rule of
// report/replay. Only open phases have a cost. When a phase with a new peak closes, the blocks live
// at its peak are gathered into groups. Its trackers rest until it opens again.
#pragma once

#include <cstdint>

#include "peak_groups.h"

namespace peakline::record {

class PhasePeaks {
public:
    static constexpr uint32_t kMaxOpen = 32;    // different names open at once
    static constexpr uint32_t kMaxViews = 128;  // names times devices

    struct View {
        uint32_t phase = 0;
        uint32_t device = 0;
        bool is_active = false;
        PeakTracker allocated;
        PeakTracker requested;
        KeptGroups allocated_groups;
        KeptGroups requested_groups;
    };
    struct OpenPhase {
        uint32_t phase;  // string id
        uint32_t depth;
    };
    struct DeviceLevel {
        uint32_t device;
        uint64_t allocated_bytes;
        uint64_t requested_bytes;
    };
    // The recorder's state when a phase begins to count.
    struct Moment {
        const DeviceLevel* levels;
        uint32_t level_count;
        uint64_t last_ordinal;
        uint64_t tick;
        bool has_allocations;
        bool is_tracing;
    };

    // From now on phases have views, or have none. Forgets peaks; open phases stay open.
    void reset(bool with_views);
    void begin_phase(uint32_t phase);
    void end_phase(uint32_t phase);
    // Call it after begin_phase, end_phase, a device's first block, and every switch of tracing:
    // views start or stop counting.
    void update(const Moment& now, const LiveSet& live_set);

    // False: the three functions below need no call.
    bool is_active() const { return active_count_ != 0; }
    [[gnu::noinline]] void on_alloc(const LiveBlock& block, uint64_t tick, bool is_traced);
    [[gnu::noinline]] void on_free_allocated(const LiveBlock& block);
    [[gnu::noinline]] void on_free_requested(const LiveBlock& block);

    // For checkpoints: afterwards the groups of every view are up to date.
    void gather(const LiveSet& live_set);
    uint32_t depth_of(uint32_t phase) const;
    const View* views() const { return views_; }
    uint32_t view_count() const { return view_count_; }
    const OpenPhase* open_phases() const { return open_; }
    uint32_t open_count() const { return open_count_; }
    uint64_t dropped_count() const { return dropped_count_; }

private:
    View* view_of(uint32_t phase, uint32_t device);
    void activate(View& view, const DeviceLevel& level, const Moment& now);
    void rest(View& view, const LiveSet& live_set);

    View views_[kMaxViews];
    uint32_t view_count_ = 0;
    uint32_t active_count_ = 0;
    OpenPhase open_[kMaxOpen] = {};
    uint32_t open_count_ = 0;
    uint64_t dropped_count_ = 0;  // phases without room
    bool with_views_ = false;
};

}  // namespace peakline::record
