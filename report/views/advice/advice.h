// What would lower the peak of a run, and by how much: every figure is the peak of the whole
// timeline, replayed without the blocks that a change would spare. Pure aggregation.
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
    std::string title;                    // what is wrong
    std::string change;                   // what to do; empty: nothing is known
    std::string evidence;                 // what of the recording shows it
    Label line;                           // where; empty: nowhere in particular
    std::vector<Label> other_lines;       // that hold a large part of the peak, too
    std::optional<uint64_t> saves_bytes;  // nullopt: only a run can say
    uint64_t held_bytes = 0;              // by the blocks in question, at the peak
    bool is_exact = false;                // else within kMostDoubt
    std::string attempt;                  // for `advise --try`; empty: nothing to try
};

struct AdviceReport {
    DeviceTotals device;  // whose peak it is
    bool is_sum = false;
    std::string phase;             // of the peak
    std::optional<uint32_t> step;  // the same
    // The events that the trace keeps hold the peak; else there is no advice.
    bool is_peak_kept = true;
    std::vector<Advice> advice;  // largest first, of known figures and of bounds
    TraceHealth health;
};

// A figure that may be further off, as a part of itself, is not given.
inline constexpr double kMostDoubt = 0.02;
// Less of the peak is not worth a sentence: one part in this many.
inline constexpr uint64_t kLeastShareOfPeak = 100;

// More events take too long where nobody asked for advice.
inline constexpr uint64_t kMostEventsUnasked = 5'000'000;

AdviceReport build_advice(const TraceReader& reader,
                          const Selection& selection,
                          StackLookup& stacks,
                          const Progress& progress);

}  // namespace peakline::report
