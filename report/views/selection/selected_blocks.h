// Which blocks of a whole trace --where shows. For views that follow blocks over time.
#pragma once

#include <vector>

#include "block_filter.h"
#include "report/trace/reader.h"

namespace peakline::report {

// By ordinal. The keys of `filter` are `keys`; it has seen all blocks then. One pass over the
// events, and one before it for keys that look at lives: how a block ends shows when it has ended.
std::vector<bool> select_blocks(const TraceReader& reader,
                                BlockKeys& keys,
                                BlockFilter& filter,
                                const Progress& progress = {});

}  // namespace peakline::report
