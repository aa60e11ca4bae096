#include "phases.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

namespace peakline::report {
namespace {

// Finds the intervals inside one of the same name. Goes down from the outer ones and counts the
// names on the way; a search from each interval upward would be slow in a deep nest.
class InTheirLike {
public:
    explicit InTheirLike(const std::vector<PhaseInterval>& intervals)
        : intervals_(intervals), within_(intervals.size()), is_in_its_like_(intervals.size()) {
        for (uint32_t i = 0; i < intervals.size(); ++i) {
            if (intervals[i].parent != kNoInterval) {
                within_[intervals[i].parent].push_back(i);
            }
        }
        for (uint32_t i = 0; i < intervals.size(); ++i) {
            if (intervals[i].parent == kNoInterval) {
                go_down(i);
            }
        }
    }

    bool operator[](size_t interval) const { return is_in_its_like_[interval]; }

private:
    void go_down(uint32_t root) {
        std::vector<uint32_t> way = {root};
        std::vector<size_t> next = {0};
        enter(root);
        while (!way.empty()) {
            const uint32_t at = way.back();
            if (next.back() < within_[at].size()) {
                const uint32_t inner = within_[at][next.back()++];
                way.push_back(inner);
                next.push_back(0);
                enter(inner);
            } else {
                --around_[intervals_[at].name];
                way.pop_back();
                next.pop_back();
            }
        }
    }
    void enter(uint32_t interval) {
        is_in_its_like_[interval] = around_[intervals_[interval].name]++ != 0;
    }

    const std::vector<PhaseInterval>& intervals_;
    std::vector<std::vector<uint32_t>> within_;
    std::vector<bool> is_in_its_like_;
    std::unordered_map<std::string, uint32_t> around_;  // number of enclosing intervals by name
};

// The time from `end` to `next`; nullopt if the level is the same.
std::optional<PhaseInterval> gap(const TraceEnd& end, const TraceEnd& next) {
    if (next.level_bytes == end.level_bytes || next.tick < end.tick) {
        return std::nullopt;
    }
    PhaseInterval between;
    between.name = kBetweenPhases;
    between.begin_tick = end.tick;
    between.end_tick = next.tick;
    LevelUse use;
    use.begin_bytes = end.level_bytes;
    use.end_bytes = next.level_bytes;
    use.peak_bytes = std::max(end.level_bytes, next.level_bytes);
    use.peak_tick = end.tick;
    (next.level_bytes < end.level_bytes ? use.freed_bytes : use.allocated_bytes) =
        use.peak_bytes - std::min(end.level_bytes, next.level_bytes);
    between.uses = LevelUses(use);
    return between;
}

}  // namespace

std::vector<PhaseTotal> total_phases(const std::vector<PhaseInterval>& intervals, uint32_t slot) {
    std::vector<PhaseTotal> totals;
    std::map<std::string, size_t> index_of;
    const InTheirLike in_their_like(intervals);
    for (size_t i = 0; i < intervals.size(); ++i) {
        const PhaseInterval& interval = intervals[i];
        const LevelUse use = interval.uses.of(slot);
        const auto [at, is_new] = index_of.try_emplace(interval.name, totals.size());
        if (is_new) {
            totals.emplace_back().name = interval.name;
        }
        PhaseTotal& total = totals[at->second];
        if (use.peak_bytes > total.peak_bytes || total.count == 0) {
            total.peak_bytes = use.peak_bytes;
            total.peak_tick = use.peak_tick;
            total.peak_step = interval.step;
        }
        if (!in_their_like[i]) {
            ++total.count;
            total.allocated_bytes += use.allocated_bytes;
            total.freed_bytes += use.freed_bytes;
            total.ticks += interval.end_tick - interval.begin_tick;
        }
    }
    return totals;
}

std::vector<PhaseInterval> with_gaps(const std::vector<PhaseInterval>& intervals,
                                     uint32_t slot,
                                     const TraceEnd& end) {
    std::vector<PhaseInterval> all;
    std::optional<TraceEnd> last;  // end of the phases so far
    std::optional<uint32_t> step;
    const auto add_gap = [&](const TraceEnd& next) {
        auto between = last.has_value() ? gap(*last, next) : std::nullopt;
        if (between.has_value()) {
            between->step = step;
            all.push_back(std::move(*between));
        }
    };
    std::vector<uint32_t> index_of(intervals.size());
    for (size_t i = 0; i < intervals.size(); ++i) {
        const PhaseInterval& interval = intervals[i];
        const LevelUse use = interval.uses.of(slot);
        if (interval.parent == kNoInterval) {
            add_gap({use.begin_bytes, interval.begin_tick});
            // If phases on several threads overlap, the last end counts.
            if (!last.has_value() || interval.end_tick >= last->tick) {
                last = TraceEnd{use.end_bytes, interval.end_tick};
                step = interval.step;
            }
        }
        index_of[i] = static_cast<uint32_t>(all.size());
        all.push_back(interval);
        if (interval.parent != kNoInterval) {
            all.back().parent = index_of[interval.parent];
        }
    }
    add_gap(end);
    return all;
}

}  // namespace peakline::report
