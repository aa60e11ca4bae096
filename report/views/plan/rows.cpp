#include "rows.h"

#include <algorithm>

namespace peakline::report {
namespace {

constexpr uint32_t kAlways = UINT32_MAX;

}  // namespace

RowFollower::RowFollower(format::Measure measure,
                         std::optional<uint32_t> device,
                         const std::vector<LevelChanges>& changes,
                         const LevelChanges& always)
    : LevelFollower(measure, device), now_(changes.size()) {
    for (uint32_t choice = 0; choice < changes.size(); ++choice) {
        for (const LevelChange& change : changes[choice]) {
            changes_.push_back({change, choice});
        }
    }
    for (const LevelChange& change : always) {
        changes_.push_back({change, kAlways});
    }
    // A rise is above the level before its event: it comes before all changes of the event.
    std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
        const bool has_rise_a = a.change.rise_bytes != 0;
        const bool has_rise_b = b.change.rise_bytes != 0;
        return a.change.event != b.change.event ? a.change.event < b.change.event
                                                : has_rise_a && !has_rise_b;
    });
}

void RowFollower::keep_row(Level level) {
    level.bytes += always_;
    const auto [row, is_new] = rows_.try_emplace(now_, level);
    if (!is_new && level.bytes > row->second.bytes) {
        row->second = level;
    }
}

void RowFollower::apply_changes(uint64_t event) {
    if (top_) {
        keep_row(*top_);
        top_.reset();
    }
    const auto level = static_cast<int64_t>(counter_.level());
    for (; next_ < changes_.size() && changes_[next_].change.event <= event; ++next_) {
        const auto& [change, choice] = changes_[next_];
        if (choice == kAlways) {
            always_ += change.bytes;
            continue;
        }
        if (change.rise_bytes != 0 && counter_.is_tracing()) {
            now_[choice] += static_cast<int64_t>(change.rise_bytes);
            keep_row({level, event});
            now_[choice] -= static_cast<int64_t>(change.rise_bytes);
        }
        now_[choice] += change.bytes;
    }
    next_event_ = next_ < changes_.size() ? changes_[next_].change.event : UINT64_MAX;
}

std::vector<PlanRow> RowFollower::finish(EventTime end) {
    note_last_level(end);
    if (top_) {
        keep_row(*top_);
    }
    std::vector<PlanRow> rows;
    for (const auto& [change, level] : rows_) {
        rows.push_back({level.bytes, change, level.event});
    }
    return rows;
}

}  // namespace peakline::report
