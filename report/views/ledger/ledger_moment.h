// Collects the data of the ledger at one moment in a pass over the events.
#pragma once

#include <cstdint>
#include <vector>

#include "driver_memory.h"
#include "moment_event.h"
#include "torch_segments.h"

namespace peakline::report {

struct LedgerMoment {
    DriverMemory memory;
    TorchSegments segments = {};
    std::vector<TorchBlock> blocks = {};  // by address
    // Growth without a record, found at the first sample after the moment.
    int64_t next_growth_bytes = 0;
    // By NVML's first report after the moment, if there was none before.
    std::optional<uint64_t> next_other_bytes = {};
};

LedgerMoment find_ledger_moment(const TraceReader& reader,
                                const MomentEvent& moment,
                                const Progress& progress);

}  // namespace peakline::report
