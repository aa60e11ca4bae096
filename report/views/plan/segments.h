// One step of training in segments: before the layers, the forward pass of each, the middle, the
// backward pass of each, and after. For `plan --try`, which has the step twice.
//
// Note [Two recorded steps]
// One step has no checkpointed layer, the other one has all. A set of layers takes the segment of a
// checkpointed layer from the second step and every other segment from the first. The levels follow
// from the segments before. Blocks that a layer made and that the middle frees belong to the layer.
// A block of no layer that the middle frees in one step, and the backward pass of a layer in the
// other, is kept by the checkpoint of that layer: the layer that reads it. If other layers may read
// it, too, any checkpoint may keep it; it then counts for every set, which may be too much. In the
// middle, blocks of layers die at different moments of the two steps, so the levels are compared
// from one allocation of the middle to the next: both steps make the same ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "choices.h"
#include "report/views/advice/layers/layer_runs.h"
#include "report/views/advice/rules/rule.h"

namespace peakline::report {

// A block in a step.
struct StepBlock {
    uint64_t alloc_event = 0;
    uint64_t free_event = 0;
    int64_t bytes = 0;
    size_t layer = 0;  // kNoLayer: none
    Phase made_in = Phase::kNone;
    std::string module;
    std::string op;
};
inline constexpr size_t kNoLayer = SIZE_MAX;

// An allocation of the middle.
struct MiddleMoment {
    int64_t level = 0;  // over the level where the middle begins
    uint64_t event = 0;
    std::map<size_t, int64_t> freed = {};  // bytes by layer, since the middle began
};

struct StepSegment {
    int64_t entry = 0;
    int64_t top = 0;
    int64_t exit = 0;
    uint64_t event = 0;                    // of the top
    std::map<size_t, int64_t> freed = {};  // bytes by layer
    // Freed blocks of no layer that this step's forward pass made, by module, operator and bytes.
    std::map<std::tuple<std::string, std::string, int64_t>, int64_t> outside = {};
};

struct StepSegments {
    StepSegment before;
    std::vector<StepSegment> forward;  // by layer
    StepSegment middle;
    std::vector<MiddleMoment> moments;
    std::vector<StepSegment> backward;  // by layer
    StepSegment after;
};

// The segments of a step with further changes of its levels. nullopt: the layers do not run one
// after the other, forward and then backward.
std::optional<StepSegments> segments_of(const std::vector<StepBlock>& blocks,
                                        const LevelChanges& changes,
                                        size_t layer_count,
                                        EventRange step);

// See Note [Two recorded steps]. `own_inputs`: by layer, the bytes of each block that
// goes into this layer alone.
std::vector<PlanRow> composed_rows(const StepSegments& none,
                                   const StepSegments& all,
                                   const std::vector<std::vector<int64_t>>& own_inputs);

}  // namespace peakline::report
