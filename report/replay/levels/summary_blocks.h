// Makes live blocks from the groups of a summary view.
#pragma once

#include <vector>

#include "report/replay/values/replay_result.h"
#include "report/trace/summary/summary.h"

namespace peakline::report {

// The part of the level beyond the groups was counted by torch but not recorded.
LiveBlocks blocks_of(const SummaryView& view,
                     const std::vector<SummaryGroup>& groups,
                     uint64_t level_bytes);

}  // namespace peakline::report
