#include "other_changes.h"

#include <utility>

namespace peakline::report {
namespace {

const LevelChanges& changes_of(const Proposal& one) {
    return one.least.empty() ? one.most : one.least;
}

}  // namespace

const char* name_of_edit(const std::string& id) {
    return id == "optimizer_state"        ? "optimizer state on the host"
           : id == "optimizer_state_8bit" ? "optimizer state in 8 bits"
                                          : "logits in chunks";
}

std::vector<OtherChange> other_changes(PlanBlocks& blocks) {
    std::vector<OtherChange> all;
    for (const Proposal& one : blocks.free_changes()) {
        all.push_back(
            {one.attempt, changes_of(one), false, false, one.title, one.change, one.attempt});
        all.back().most_slot = all.size() - 1;
    }
    for (const Proposal& one : blocks.edits()) {
        all.push_back({one.rule, changes_of(one), true, false, one.title, one.change});
        all.back().most_slot = all.size() - 1;
        if (!one.least.empty()) {
            // Each chunk makes gradients of the last layer, beside the sums of all chunks.
            LevelChanges& levels = all.back().levels;
            levels.insert(levels.begin(), {0, static_cast<int64_t>(blocks.largest_gradients())});
            all.back().most_slot = all.size();
            all.push_back({std::string(one.rule) + " at most", one.most, true, true});
            all.back().most_slot = all.size() - 1;
        }
    }
    return all;
}

LevelChanges WithOthers::changes(const std::set<std::string>& ids) const {
    LevelChanges all;
    for (const OtherChange& one : others) {
        if (ids.count(one.id) != 0) {
            all.insert(all.end(), one.levels.begin(), one.levels.end());
        }
    }
    return all;
}

std::optional<StepSegments> WithOthers::segments(const std::vector<std::string>& layers,
                                                 const std::set<std::string>& ids) const {
    const auto step = recorded.last_step();
    return step.has_value()
               ? segments_of(
                     recorded.blocks.of_step(*step, layers), changes(ids), layers.size(), *step)
               : std::nullopt;
}

}  // namespace peakline::report
