#include "phases.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

bool lies_in_its_like(const std::vector<PhaseInterval>& intervals, const PhaseInterval& interval) {
    uint32_t parent = interval.parent;
    while (parent != kNoInterval && intervals[parent].name != interval.name) {
        parent = intervals[parent].parent;
    }
    return parent != kNoInterval;
}

// From `end` to what is next; empty where the level is the same.
std::optional<PhaseInterval> gap(uint32_t slot, const TraceEnd& end, const TraceEnd& next) {
    if (next.level_bytes == end.level_bytes || next.tick < end.tick) {
        return std::nullopt;
    }
    PhaseInterval between;
    between.name = kBetweenPhases;
    between.begin_tick = end.tick;
    between.end_tick = next.tick;
    between.uses.resize(slot + 1);
    LevelUse& use = between.uses[slot];
    use.begin_bytes = end.level_bytes;
    use.end_bytes = next.level_bytes;
    use.peak_bytes = std::max(end.level_bytes, next.level_bytes);
    use.peak_tick = end.tick;
    (next.level_bytes < end.level_bytes ? use.freed_bytes : use.allocated_bytes) =
        use.peak_bytes - std::min(end.level_bytes, next.level_bytes);
    return between;
}

}  // namespace

LevelUse use_of(const LevelUses& uses, uint32_t slot) {
    return slot < uses.size() ? uses[slot] : LevelUse();
}

std::vector<PhaseTotal> total_phases(const std::vector<PhaseInterval>& intervals, uint32_t slot) {
    std::vector<PhaseTotal> totals;
    std::map<std::string, size_t> place_of;
    for (const PhaseInterval& interval : intervals) {
        const LevelUse use = use_of(interval.uses, slot);
        const auto [at, is_new] = place_of.try_emplace(interval.name, totals.size());
        if (is_new) {
            totals.emplace_back().name = interval.name;
        }
        PhaseTotal& total = totals[at->second];
        if (use.peak_bytes > total.peak_bytes || total.count == 0) {
            total.peak_bytes = use.peak_bytes;
            total.peak_tick = use.peak_tick;
            total.peak_step = interval.step;
        }
        if (!lies_in_its_like(intervals, interval)) {
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
    std::optional<TraceEnd> last;  // of the phases so far
    std::optional<uint32_t> step;
    const auto add_gap = [&](const TraceEnd& next) {
        auto between = last.has_value() ? gap(slot, *last, next) : std::nullopt;
        if (between.has_value()) {
            between->step = step;
            all.push_back(std::move(*between));
        }
    };
    std::vector<uint32_t> place_of(intervals.size());
    for (size_t i = 0; i < intervals.size(); ++i) {
        const PhaseInterval& interval = intervals[i];
        const LevelUse use = use_of(interval.uses, slot);
        if (interval.parent == kNoInterval) {
            add_gap({use.begin_bytes, interval.begin_tick});
            // Of phases that overlap, on several threads, the last end counts.
            if (!last.has_value() || interval.end_tick >= last->tick) {
                last = TraceEnd{use.end_bytes, interval.end_tick};
                step = interval.step;
            }
        }
        place_of[i] = static_cast<uint32_t>(all.size());
        all.push_back(interval);
        if (interval.parent != kNoInterval) {
            all.back().parent = place_of[interval.parent];
        }
    }
    add_gap(end);
    return all;
}

}  // namespace peakline::report
