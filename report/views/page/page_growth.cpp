#include "page_growth.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace peakline::report {

GrowthMoments page_growth_moments(const PhaseTable& table, uint64_t event_count) {
    constexpr size_t kLeastBounds = 2;
    GrowthMoments moments =
        growth_moments(table, event_count, nullptr, std::numeric_limits<size_t>::max());
    return moments.bounds.size() < kLeastBounds ? parts_of_run(event_count) : moments;
}

GrowthFollower::GrowthFollower(const GrowthMoments& moments,
                               uint32_t first_step,
                               size_t max_changes)
    : moments_(moments),
      first_step_(moments.unit == GrowthUnit::kStep ? first_step : 0),
      max_changes_(max_changes),
      next_bound_(moments_.bounds.empty() ? UINT64_MAX : moments_.bounds.front()) {
    growth_.unit = moments_.unit;
}

void GrowthFollower::count(const PageChange& change) {
    if (change.context >= since_.size()) {
        since_.resize(change.context + 1);
        is_touched_.resize(change.context + 1);
    }
    if (!is_touched_[change.context]) {
        is_touched_[change.context] = true;
        touched_.push_back(change.context);
    }
    since_[change.context].bytes += change.bytes;
    since_[change.context].count += change.count;
}

void GrowthFollower::take_sample(uint64_t tick, uint64_t level, bool is_shown) {
    if (is_shown) {
        growth_.ticks.push_back(tick);
        growth_.levels.push_back(level);
        growth_.steps.push_back(uint64_t{first_step_} + moments_.first_units[bound_]);
        if ((growth_.ticks.size() - 1) % growth_.stride == 0) {
            keep_live_set();
        }
    }
    ++bound_;
    next_bound_ = bound_ < moments_.bounds.size() ? moments_.bounds[bound_] : UINT64_MAX;
}

void GrowthFollower::keep_live_set() {
    std::sort(touched_.begin(), touched_.end());
    for (const uint32_t context : touched_) {
        is_touched_[context] = false;
        PageChange change = std::exchange(since_[context], PageChange());
        if (change.bytes != 0 || change.count != 0) {
            change.context = context;
            growth_.changes.push_back(change);
        }
    }
    touched_.clear();
    growth_.change_ends.push_back(growth_.changes.size());
    if (growth_.changes.size() > max_changes_ && growth_.change_ends.size() > 2) {
        join_pairs();
    }
}

// Keeps the first live set and every second one after it.
void GrowthFollower::join_pairs() {
    const std::vector<PageChange> changes = std::move(growth_.changes);
    const std::vector<size_t> ends = std::move(growth_.change_ends);
    const auto of = [&](size_t set) {
        const size_t begin = set == 0 ? 0 : ends[set - 1];
        return std::span(changes).subspan(begin, ends[set] - begin);
    };
    growth_.changes.assign(of(0).begin(), of(0).end());
    growth_.change_ends = {growth_.changes.size()};
    growth_.stride *= 2;
    size_t set = 1;
    for (; set + 1 < ends.size(); set += 2) {
        const std::vector<PageChange> joined = sum_of(of(set), of(set + 1));
        growth_.changes.insert(growth_.changes.end(), joined.begin(), joined.end());
        growth_.change_ends.push_back(growth_.changes.size());
    }
    if (set < ends.size()) {
        for (const PageChange& change : of(set)) {
            count(change);
        }
    }
}

PageGrowth GrowthFollower::finish(EventTime end, uint64_t level, bool is_shown) {
    before_event(end, level, is_shown);
    if (!growth_.ticks.empty() && (growth_.ticks.size() - 1) % growth_.stride != 0) {
        keep_live_set();
    }
    return std::move(growth_);
}

}  // namespace peakline::report
