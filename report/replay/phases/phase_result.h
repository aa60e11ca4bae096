// The phases of a trace with their effect on the levels. Plain data: phase_replay fills it, views
// and render show it.
#pragma once

#include <vector>

#include "report/replay/values/phase_table.h"
#include "report/replay/values/replay_result.h"

namespace peakline::report {

// A text that the program wrote with peakline.mark(), and the levels at that moment.
struct TraceNote {
    uint64_t tick = 0;
    uint32_t text = 0;  // string id
    LevelUses levels;
};

struct PhaseResult {
    // A damaged trace may have any number of notes.
    static constexpr size_t kMaxNotes = 10'000;

    PhaseTable table;
    std::vector<TraceNote> notes;  // the first kMaxNotes
    uint64_t note_count = 0;
    std::vector<DeviceTotals> devices;  // each device, or their sum as device 0
    TraceHealth health;
};

}  // namespace peakline::report
