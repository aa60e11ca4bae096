#include "phases.h"

#include <algorithm>

namespace peakline::report {
namespace {

bool lies_in_its_like(const std::vector<PhaseInterval>& intervals, const PhaseInterval& interval) {
    uint32_t parent = interval.parent;
    while (parent != kNoInterval && intervals[parent].name != interval.name) {
        parent = intervals[parent].parent;
    }
    return parent != kNoInterval;
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

}  // namespace peakline::report
