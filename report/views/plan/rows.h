// The rows of a plan from one recording. See Note [Rows of a plan] in choices.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "choices.h"
#include "report/replay/totals/altered_levels.h"

namespace peakline::report {

class RowFollower : public LevelFollower<RowFollower> {
public:
    // `changes`: by choice. `always`: of any set of choices that is not empty.
    RowFollower(format::Measure measure,
                std::optional<uint32_t> device,
                const std::vector<LevelChanges>& changes,
                const LevelChanges& always);

    // Call it after the pass.
    std::vector<PlanRow> finish(EventTime end);

private:
    friend class LevelFollower<RowFollower>;

    struct Change {
        LevelChange change;
        uint32_t choice = 0;
    };
    struct Level {
        int64_t bytes = 0;
        uint64_t event = 0;
    };

    void note_level(uint64_t event) {
        if (counter_.is_tracing() &&
            (!top_ || static_cast<int64_t>(counter_.level()) > top_->bytes)) {
            top_ = {static_cast<int64_t>(counter_.level()), event};
        }
    }
    void apply_changes(uint64_t event);
    void keep_row(Level level);

    std::vector<Change> changes_;  // by event
    size_t next_ = 0;
    std::optional<Level> top_;  // since the last change
    int64_t always_ = 0;
    std::vector<int64_t> now_;  // changes so far, by choice
    std::map<std::vector<int64_t>, Level> rows_;
};

}  // namespace peakline::report
