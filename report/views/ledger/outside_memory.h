// What is in use of a device beyond torch's allocator at its peak, in a few words: the table says
// it where it is much.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct OutsidePart {
    std::string name;
    int64_t bytes = 0;
};
struct OutsideMemory {
    int64_t bytes = 0;
    std::vector<OutsidePart> parts;  // most bytes first
};

// nullopt: the trace does not say, is so long that it would be felt, or it is the usual context and
// little more.
std::optional<OutsideMemory> find_outside_memory(const TraceReader& reader,
                                                 const DeviceTotals& device,
                                                 StackLookup& stacks,
                                                 const Progress& progress);

}  // namespace peakline::report
