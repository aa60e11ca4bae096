// Computes the levels of a run if some blocks had lived differently: not at all, shorter, or made
// at another moment. Every event is replayed, so that a peak at another moment counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "report/replay/blocks/block_stream.h"
#include "report/replay/levels/device_trackers.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {

// From this event on the level is higher by `bytes`, or lower (negative). The change is one with
// the event's own effect: a block that is not made changes no level.
struct LevelChange {
    uint64_t event = 0;
    int64_t bytes = 0;
    // Highest excursion above the level between the previous event and this one, by blocks made and
    // freed in between.
    uint64_t rise_bytes = 0;
};
using LevelChanges = std::vector<LevelChange>;

struct LevelPeak {
    uint64_t bytes = 0;
    uint64_t event = 0;
};

// The level of one device, or of all together, and its peak while tracing is on.
class LevelCounter : public BlockFollower {
public:
    LevelCounter(format::Measure measure, std::optional<uint32_t> device)
        : measure_(measure), device_(device) {}

    void restore(const Checkpoint& checkpoint);
    void on_alloc(const BlockAlloc& block) {
        if (counts(block.shape)) {
            level_ += bytes_of(block.shape, measure_);
        }
    }
    void on_free(const BlockFree& block) {
        if (block.leaves(measure_) && counts(block.shape)) {
            level_ -= bytes_of(block.shape, measure_);
        }
    }
    void on_rare(const RareEvent& event, EventTime at);

    uint64_t level() const { return level_; }
    bool is_tracing() const { return is_tracing_; }

private:
    bool counts(const AllocationShape& shape) const { return is_counted(device_, shape.device); }

    format::Measure measure_;
    std::optional<uint32_t> device_;
    uint64_t level_ = 0;
    bool is_tracing_ = false;
};

// Counts the level of a pass, and gives `Changes` (the class that derives from this) the moments
// for its changes. It has two functions: note_level(event), the level after an event; and
// apply_changes(event), before an event, which sets next_event_ to the event of its next change.
template <class Changes>
class LevelFollower : public BlockFollower {
public:
    LevelFollower(format::Measure measure, std::optional<uint32_t> device)
        : counter_(measure, device) {}

    void restore(const Checkpoint& checkpoint) { counter_.restore(checkpoint); }
    void before_event(EventTime at) {
        if (is_open_) {
            changes().note_level(at.event - 1);
        }
        if (at.event >= next_event_) {
            changes().apply_changes(at.event);
        }
        is_open_ = true;
    }
    void on_alloc(const BlockAlloc& block) { counter_.on_alloc(block); }
    void on_free(const BlockFree& block) { counter_.on_free(block); }
    void on_rare(const RareEvent& event, EventTime at) { counter_.on_rare(event, at); }

protected:
    // Call it after the pass.
    void note_last_level(EventTime end) {
        if (is_open_ && end.event != 0) {
            changes().note_level(end.event - 1);
        }
    }

    LevelCounter counter_;
    uint64_t next_event_ = 0;

private:
    Changes& changes() { return static_cast<Changes&>(*this); }

    bool is_open_ = false;  // the level after the last event is not noted yet
};

// Follows several alternatives in one pass. The first has no changes: it is the run itself.
class AlteredLevels : public LevelFollower<AlteredLevels> {
public:
    AlteredLevels(format::Measure measure,
                  std::optional<uint32_t> device,
                  std::vector<LevelChanges> alternatives);

    // Call it after the pass. Returns the peaks by alternative, the run itself first.
    std::vector<LevelPeak> finish(EventTime end);

private:
    friend class LevelFollower<AlteredLevels>;

    struct Alternative {
        LevelChanges changes;  // by event
        size_t next = 0;
        int64_t delta = 0;  // sum of the changes so far
        LevelPeak peak = {};
    };

    void apply_changes(uint64_t event);
    void note_level(uint64_t event);
    static void note(Alternative& one, int64_t level, uint64_t event);

    std::vector<Alternative> alternatives_;
};

}  // namespace peakline::report
