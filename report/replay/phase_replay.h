// One pass over the events: the phases of a trace with what each did to the levels, and the facts
// about chosen blocks.
#pragma once

#include <vector>

#include "block_facts.h"
#include "phase_table.h"
#include "replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct PhaseRequest {
    format::Measure measure = format::Measure::kAllocated;
    bool sum_devices = false;
    // Ordinals of the blocks to follow, ascending.
    std::vector<uint64_t> ordinals;
};

struct PhaseResult {
    PhaseTable table;
    std::vector<BlockFacts> facts;      // of the blocks asked for, in their order
    std::vector<DeviceTotals> devices;  // each device, or their sum as device 0
    TraceHealth health;
};

PhaseResult replay_phases(const TraceReader& reader,
                          const PhaseRules& rules,
                          PhaseRequest request,
                          const Progress& progress = {});

}  // namespace peakline::report
