// Work that needs all phases of a trace: the step of each.
#pragma once

#include <vector>

#include "report/replay/values/phase_table.h"

namespace peakline::report {

// Returns the list without the intervals of Phase::kNone, with parents renumbered.
std::vector<PhaseInterval> without_removed(std::vector<PhaseInterval> intervals);

// Gives every interval its step. Without marks and without an optimizer, a step is one forward pass
// and everything up to the next: a generated token, an evaluated batch.
void number_steps(PhaseTable* table);

}  // namespace peakline::report
