// Collects levels over time into points of equal length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "timeline.h"

namespace peakline::report {

class TimelineBuilder {
public:
    TimelineBuilder(uint64_t begin_tick, uint64_t end_tick, uint64_t point_count)
        : begin_tick_(begin_tick),
          width_(std::max<uint64_t>(1, (end_tick - begin_tick) / point_count + 1)) {
        timeline_.end_tick = end_tick;
    }

    // The level is `level` from `tick` on.
    void set_level(uint64_t tick, uint64_t level) {
        pass_time(tick);
        level_ = level;
        held_max_ = level;
        if (timeline_.points.empty()) {
            add_point();
        }
        add_max(tick, level);
    }

    // The level reaches `bytes` at some time after `tick`, before the next level is set.
    void add_max(uint64_t tick, uint64_t bytes) {
        held_max_ = std::max(held_max_, bytes);
        TimelinePoint& point = timeline_.points.back();
        point.max_bytes = std::max(point.max_bytes, bytes);
        if (bytes > timeline_.peak_bytes) {
            timeline_.peak_bytes = bytes;
            timeline_.peak_tick = tick;
        }
    }

    Timeline finish() {
        pass_time(timeline_.end_tick);
        timeline_.end_bytes = level_;
        return std::move(timeline_);
    }

private:
    uint64_t next_begin() const { return begin_tick_ + timeline_.points.size() * width_; }

    void add_point() { timeline_.points.push_back({next_begin(), level_, held_max_}); }

    // Later ticks than the end, in a damaged trace, make no more points.
    void pass_time(uint64_t tick) {
        while (!timeline_.points.empty() && next_begin() <= std::min(tick, timeline_.end_tick)) {
            add_point();
        }
    }

    uint64_t begin_tick_;
    uint64_t width_;
    uint64_t level_ = 0;
    uint64_t held_max_ = 0;  // may be reached until the next level is set
    Timeline timeline_;
};

}  // namespace peakline::report
