// The memory of a device in use outside of torch's allocator at its peak, in a few words: the table
// shows it if it is large.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger.h"
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

// The ledger at the peak of the device. nullopt: the trace lacks the records, or is too long for a
// quick pass.
std::optional<Ledger> find_peak_ledger(const TraceReader& reader,
                                       const DeviceTotals& device,
                                       StackLookup& stacks,
                                       const Progress& progress);

// nullopt: there is little more than the usual context.
std::optional<OutsideMemory> outside_memory(const Ledger& ledger);

}  // namespace peakline::report
