// Memory that steps made and the program still holds at its end, except for the memory that a
// training keeps: parameters, buffers, gradients, state of the optimizer, workspaces and buffers of
// communication. "Still live at the end": the trace does not show whether it should be. Pure
// aggregation.
#pragma once

#include <cstdint>
#include <vector>

#include "report/attribute/block_keys.h"

namespace peakline::report {

struct LeftRow {
    std::vector<Label> labels;
    std::string category;
    uint64_t bytes = 0;
    uint64_t count = 0;
    uint32_t first_step = 0;  // the first step that made some of its blocks
    uint32_t last_step = 0;
};

// Largest first. `keys`: those of the rows, then the category; BlockKeys::group() must have seen
// `blocks`.
std::vector<LeftRow> build_left_at_end(const std::vector<TrackedBlock>& blocks,
                                       const PhaseTable& phases,
                                       format::Measure measure,
                                       const BlockKeys& keys);

}  // namespace peakline::report
