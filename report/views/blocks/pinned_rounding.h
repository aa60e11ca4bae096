// How much of pinned memory is rounding: torch rounds each of its blocks up to a power of two, and
// the driver sees only that. Pure aggregation.
#pragma once

#include <cstdint>

#include "report/replay/values/replay_result.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// What the program asked for lies between these; they are equal where the tensors are known.
struct PinnedRounding {
    uint64_t given_bytes = 0;
    uint64_t least_asked_bytes = 0;
    uint64_t most_asked_bytes = 0;
};

// Of the blocks of one moment, each by itself; groups of equal ones have no tensors that are known.
PinnedRounding find_pinned_rounding(const LiveBlocks& blocks, const Definitions& definitions);

}  // namespace peakline::report
