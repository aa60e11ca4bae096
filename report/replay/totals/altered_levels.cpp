#include "altered_levels.h"

#include <algorithm>

namespace peakline::report {

void LevelCounter::restore(const Checkpoint& checkpoint) {
    for (const BaselineBlock& block : checkpoint.blocks) {
        const bool has_left = measure_ == format::Measure::kAllocated && block.is_deferred;
        if (!has_left && counts(block.shape)) {
            level_ += bytes_of(block.shape, measure_);
        }
    }
    is_tracing_ = checkpoint.tracing;
}

void LevelCounter::on_rare(const RareEvent& event, EventTime) {
    if (const auto mark = event.as<format::Mark>()) {
        if (mark->kind == format::MarkKind::kTracingStarted) {
            is_tracing_ = true;
        } else if (mark->kind == format::MarkKind::kTracingStopped) {
            is_tracing_ = false;
        }
    }
}

AlteredLevels::AlteredLevels(format::Measure measure,
                             std::optional<uint32_t> device,
                             std::vector<LevelChanges> alternatives)
    : LevelFollower(measure, device) {
    alternatives_.emplace_back();
    for (LevelChanges& changes : alternatives) {
        std::stable_sort(
            changes.begin(), changes.end(), [](const LevelChange& a, const LevelChange& b) {
                return a.event < b.event;
            });
        alternatives_.push_back({std::move(changes)});
    }
}

// The peak is the earliest strict maximum, as everywhere.
void AlteredLevels::note(Alternative& one, int64_t level, uint64_t event) {
    if (level > static_cast<int64_t>(one.peak.bytes)) {
        one.peak = {static_cast<uint64_t>(level), event};
    }
}

void AlteredLevels::note_level(uint64_t event) {
    if (!counter_.is_tracing()) {
        return;
    }
    const auto level = static_cast<int64_t>(counter_.level());
    for (Alternative& one : alternatives_) {
        note(one, level + one.delta, event);
    }
}

void AlteredLevels::apply_changes(uint64_t event) {
    const auto level = static_cast<int64_t>(counter_.level());
    next_event_ = UINT64_MAX;
    for (Alternative& one : alternatives_) {
        while (one.next < one.changes.size() && one.changes[one.next].event <= event) {
            const LevelChange& change = one.changes[one.next++];
            if (change.rise_bytes != 0 && counter_.is_tracing()) {
                note(one, level + one.delta + static_cast<int64_t>(change.rise_bytes), event);
            }
            one.delta += change.bytes;
        }
        if (one.next < one.changes.size()) {
            next_event_ = std::min(next_event_, one.changes[one.next].event);
        }
    }
}

std::vector<LevelPeak> AlteredLevels::finish(EventTime end) {
    note_last_level(end);
    std::vector<LevelPeak> peaks;
    for (const Alternative& one : alternatives_) {
        peaks.push_back(one.peak);
    }
    return peaks;
}

}  // namespace peakline::report
