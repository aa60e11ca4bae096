// The holders of the blocks that were live when a request was refused.
#pragma once

#include <cstdint>
#include <optional>

#include "autopsy.h"
#include "report/views/blocks/holders.h"

namespace peakline::report {

struct RefusedHolders {
    HolderList list;  // only of blocks that were live when the request was refused
    // Bytes of the largest blocks then, as many as the search examined, that it did not find.
    uint64_t gone_bytes = 0;
};

// A search runs soon after a refusal, when the program may already have released the memory, or
// continues an earlier search. So this chooses the search that saw most of the live set, the next
// one first. nullopt: no search saw any of it.
std::optional<RefusedHolders> find_refused_holders(const TraceReader& reader,
                                                   const Autopsy& autopsy,
                                                   StackLookup& stacks);

}  // namespace peakline::report
