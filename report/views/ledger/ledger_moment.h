// What the ledger is made of, as it was at one moment: a pass over the events.
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
    // What was found to have grown by itself at the first sample after the moment.
    int64_t next_growth_bytes = 0;
    // As NVML said first after the moment, where it had not been asked before.
    std::optional<uint64_t> next_other_bytes = {};
};

LedgerMoment find_ledger_moment(const TraceReader& reader,
                                const MomentEvent& moment,
                                const Progress& progress);

}  // namespace peakline::report
