// Computes the part of pinned memory that is rounding: torch rounds each of its blocks up to a
// power of two, and the driver sees only the result. Pure aggregation.
#pragma once

#include <cstdint>

#include "report/replay/values/replay_result.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// The requested bytes are between `least` and `most`; these are equal if the tensors are known.
struct PinnedRounding {
    uint64_t given_bytes = 0;
    uint64_t least_asked_bytes = 0;
    uint64_t most_asked_bytes = 0;
};

// For the blocks of one moment, each separately; groups of equal ones have no known tensors.
PinnedRounding find_pinned_rounding(const LiveBlocks& blocks, const Definitions& definitions);

}  // namespace peakline::report
