// Finds changes that would lower the peak of a run, and by how much. Every figure is the peak of
// the whole timeline, replayed without the blocks that a change would spare. Pure aggregation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/attribute/block_keys.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"
#include "rules/causes.h"

namespace peakline::report {

struct Advice {
    std::string rule;  // the cause: a stable name, for programs
    CauseKind kind = CauseKind::kFact;
    std::string title;                    // the fault
    std::string change;                   // the advice; empty: none is known
    std::string evidence;                 // the part of the recording that shows it
    Label line;                           // its line; empty: no particular one
    std::vector<Label> other_lines;       // other lines that hold a large part of the peak
    std::optional<uint64_t> saves_bytes;  // nullopt: only a run can show it
    uint64_t held_bytes = 0;              // bytes of the blocks in question at the peak
    bool is_exact = false;                // else the error is within kMostDoubt
    std::string attempt;                  // for `advise --try`; empty: nothing to try
};

struct AdviceReport {
    DeviceTotals device;  // the device of the peak
    bool is_sum = false;
    std::string phase;             // of the peak
    std::optional<uint32_t> step;  // of the peak
    // The peak is among the events that the trace keeps; else there is no advice.
    bool is_peak_kept = true;
    std::vector<Advice> advice;  // largest first, by known figure or upper limit
    TraceHealth health;
};

// A figure with a larger possible error, as a part of itself, is not shown.
inline constexpr double kMostDoubt = 0.02;
// A smaller part of the peak is not worth a sentence: one part in this many.
inline constexpr uint64_t kLeastShareOfPeak = 100;

// More events take too long for advice that the user did not request.
inline constexpr uint64_t kMostEventsUnasked = 5'000'000;

AdviceReport build_advice(const TraceReader& reader,
                          const Selection& selection,
                          StackLookup& stacks,
                          const Progress& progress);

}  // namespace peakline::report
