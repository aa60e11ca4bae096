// The levels that torch's own counters would show now, of one device or of all together: allocated,
// active (allocated or still used by another stream), reserved (segments), and the highest values
// so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "allocator/record/format/trace_format.h"
#include "report/replay/values/device_names.h"
#include "report/trace/events/event_decoder.h"
#include "report/trace/summary/checkpoint.h"

namespace peakline::report {

struct MemoryLevels {
    uint64_t allocated_bytes = 0;
    uint64_t active_bytes = 0;
    uint64_t reserved_bytes = 0;
    uint64_t max_allocated_bytes = 0;
    uint64_t max_reserved_bytes = 0;
};

class LevelFollower {
public:
    // nullopt: all GPUs.
    explicit LevelFollower(std::optional<uint32_t> device) : device_(device) {}

    bool counts(uint32_t device) const { return is_counted(device_, device); }
    const MemoryLevels& now() const { return now_; }
    // A segment grows for the allocation that follows: returns the levels before both.
    MemoryLevels before_alloc() const {
        MemoryLevels before = now_;
        before.reserved_bytes -= grown_bytes_;
        before.max_reserved_bytes =
            grown_bytes_ != 0 ? settled_max_bytes_ : before.max_reserved_bytes;
        return before;
    }

    void on_alloc(uint64_t bytes) {
        now_.allocated_bytes += bytes;
        now_.active_bytes += bytes;
        now_.max_allocated_bytes = std::max(now_.max_allocated_bytes, now_.allocated_bytes);
        grown_bytes_ = 0;
    }
    void on_free(uint64_t bytes, FreeKind kind) {
        now_.allocated_bytes -= kind != FreeKind::kCompleted ? bytes : 0;
        now_.active_bytes -= kind != FreeKind::kDeferred ? bytes : 0;
        grown_bytes_ = 0;
    }
    void on_segment(const format::Segment& segment) {
        if (!counts(static_cast<uint32_t>(segment.device))) {
            return;
        }
        const bool grows = segment.action == format::SegmentAction::kAlloc ||
                           segment.action == format::SegmentAction::kMap;
        settled_max_bytes_ = grown_bytes_ == 0 ? now_.max_reserved_bytes : settled_max_bytes_;
        grown_bytes_ = grows ? grown_bytes_ + segment.bytes : 0;
        now_.reserved_bytes += grows ? segment.bytes : -segment.bytes;
        now_.max_reserved_bytes = std::max(now_.max_reserved_bytes, now_.reserved_bytes);
        has_segments_ = true;
    }
    // Restores torch's segments when a stream begins at a checkpoint.
    void restore_segments(const Checkpoint& checkpoint) {
        if (checkpoint.standing) {
            for (const RareEvent& event : checkpoint.standing->records) {
                if (const auto segment = event.as<format::Segment>()) {
                    on_segment(*segment);
                }
            }
        }
        grown_bytes_ = 0;
    }
    // Without a segment in the trace `reserved` is unknown.
    bool has_segments() const { return has_segments_; }

private:
    std::optional<uint32_t> device_;
    MemoryLevels now_;
    bool has_segments_ = false;
    uint64_t grown_bytes_ = 0;  // since the last allocation or free
    uint64_t settled_max_bytes_ = 0;
};

}  // namespace peakline::report
