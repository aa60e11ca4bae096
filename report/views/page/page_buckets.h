// The levels of a long run in two series of buckets of equal event count, made in one pass. Points
// keep the highest moment of a bucket split by category. Moments keep the live set there as
// differences from the previous moment. Both begin with one event per bucket. If there are too
// many, neighbours are joined and the higher one stays, so every kept number is exact.
//
// A bucket is the time from its first event to the first event of the next one: the levels after
// each of its events. Moments while tracing was on count before those while it was off, as the
// peak of a table does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "highest_sets.h"

namespace peakline::report {

inline constexpr size_t kMaxPageCategories = 16;
using CategoryLevels = std::array<uint64_t, kMaxPageCategories>;

struct Height {
    bool traced = false;
    uint64_t bytes = 0;

    bool above(const Height& other) const {
        return traced != other.traced ? traced : bytes > other.bytes;
    }
};

struct PagePoint {
    uint64_t begin_tick = 0;
    uint64_t peak_tick = 0;   // the earliest strict maximum
    uint64_t peak_event = 0;  // number of events up to then, of those that change the level
    Height peak;
    uint64_t min_bytes = 0;
    uint64_t max_reserved_bytes = 0;  // torch's segments, after each of its events
    CategoryLevels categories = {};   // at the peak
};

// Both are sorted by context; leaves out sums of zero.
std::vector<PageChange> sum_of(std::span<const PageChange> first,
                               std::span<const PageChange> second);

struct PageMoment {
    Height peak;
    uint64_t change_end = 0;  // end of its changes, which begin at the previous moment's end
};

class PagePoints {
public:
    explicit PagePoints(size_t max_count) : max_count_(max_count) {}

    // An event before the shown range only counts.
    void pass_event() { ++passed_count_; }
    // Adds an event with the levels after it.
    void on_event(uint64_t tick, Height level, const CategoryLevels& categories);
    // The level counts from `tick` on, without an event.
    void consider(uint64_t tick, Height level, const CategoryLevels& categories);
    // Torch's segments have this many bytes. Segment growth counts from the next allocation on.
    void on_reserved(uint64_t bytes);
    // Call it after the last event.
    void finish();

    uint64_t events_per_point() const { return width_; }
    const std::vector<PagePoint>& points() const { return points_; }
    // Index of the highest point, the first of equal ones; 0 if there is none.
    size_t highest() const;

private:
    void open(uint64_t tick, Height level, const CategoryLevels& categories);
    void count_reserved();
    void join_pairs();

    size_t max_count_;
    uint64_t reserved_bytes_ = 0;
    uint64_t width_ = 1;
    uint64_t event_count_ = 0;   // of the last point
    uint64_t passed_count_ = 0;  // number of all events
    std::vector<PagePoint> points_;
};

class PageMoments {
public:
    PageMoments(size_t max_count, size_t max_changes)
        : max_count_(max_count), max_changes_(max_changes) {}

    // Before the shown range: only the live set matters.
    void apply(const PageChange& change) {
        sets_.add(change);
        sets_.mark();
    }
    void on_event(const PageChange& change, Height level);
    void consider(Height level);
    // The live set after the last event: by context, without empty ones.
    std::vector<PageChange> live_now() const { return sets_.live_now(); }
    // Call it after the last event.
    void finish();
    // Joins neighbours; call it after finish(). False when only one moment is left.
    bool coarsen();

    uint64_t events_per_moment() const { return width_; }
    const std::vector<PageMoment>& moments() const { return moments_; }
    const std::vector<PageChange>& changes() const { return changes_; }
    // The live set at the highest moment of a bucket: by context, without empty ones.
    std::vector<PageChange> live_at(size_t moment) const;

private:
    void close();
    void join_pairs();

    size_t max_count_;
    size_t max_changes_;
    uint64_t width_ = 1;
    uint64_t event_count_ = 0;  // of the open bucket
    bool is_open_ = false;
    Height highest_;
    HighestSets sets_;
    std::vector<PageMoment> moments_;
    std::vector<PageChange> changes_;
};

}  // namespace peakline::report
