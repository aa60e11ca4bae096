// What kept the blocks alive that were live when a request was refused.
#pragma once

#include <cstdint>
#include <optional>

#include "autopsy.h"
#include "report/views/blocks/holders.h"

namespace peakline::report {

struct RefusedHolders {
    HolderList list;  // only of blocks that were live when the request was refused
    // Of the largest blocks then, as many as the search looked at: what it has not.
    uint64_t gone_bytes = 0;
};

// A search looks soon after a refusal, when the program may have let go of the memory, or goes on
// with what an earlier one saw. So the search is chosen that saw most of what was live, the next
// one first. nullopt: none saw any of it.
std::optional<RefusedHolders> find_refused_holders(const TraceReader& reader,
                                                   const Autopsy& autopsy,
                                                   StackLookup& stacks);

}  // namespace peakline::report
