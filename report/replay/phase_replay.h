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

// What the program wrote into the trace with peakline.mark(), and the levels at that moment.
struct TraceNote {
    uint64_t tick = 0;
    uint32_t text = 0;  // string
    LevelUses levels;
};

struct PhaseResult {
    // A damaged trace may have any number of notes.
    static constexpr size_t kMaxNotes = 10'000;

    PhaseTable table;
    std::vector<TraceNote> notes;  // the first kMaxNotes
    uint64_t note_count = 0;
    std::vector<BlockFacts> facts;      // of the blocks asked for, in their order
    std::vector<DeviceTotals> devices;  // each device, or their sum as device 0
    TraceHealth health;
};

PhaseResult replay_phases(const TraceReader& reader,
                          const PhaseRules& rules,
                          PhaseRequest request,
                          const Progress& progress = {});

}  // namespace peakline::report
