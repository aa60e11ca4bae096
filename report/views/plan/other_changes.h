// Changes of a program that are no checkpoints: free ones, and edits. Their figures are those of
// `advise`.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan_blocks.h"
#include "segments.h"

namespace peakline::report {

// A change that is no checkpoint: free, or an edit. `id` is the same in two recordings.
struct OtherChange {
    std::string id;
    LevelChanges levels;
    bool is_edit = false;
    // The most that an edit with limits may save. Another change has what it saves at least.
    bool is_most = false;
    std::string title = {};
    std::string change = {};
    std::string attempt = {};
    size_t most_slot = 0;  // in the list: the most that it may save; itself if it has no limits
};

std::vector<OtherChange> other_changes(PlanBlocks& blocks);
// A few words for an edit, by its id.
const char* name_of_edit(const std::string& id);

// A recording, with its other changes.
struct WithOthers {
    const PlanRecording& recorded;
    std::vector<OtherChange> others;

    // Changes and segments with the other changes of these ids.
    LevelChanges changes(const std::set<std::string>& ids) const;
    std::optional<StepSegments> segments(const std::vector<std::string>& layers,
                                         const std::set<std::string>& ids) const;
};

}  // namespace peakline::report
