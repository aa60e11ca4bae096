// What is worked out when all phases of a trace are known: the step each belongs to.
#pragma once

#include <vector>

#include "report/replay/values/phase_table.h"

namespace peakline::report {

// The list without the intervals of Phase::kNone; parents keep their meaning.
std::vector<PhaseInterval> without_removed(std::vector<PhaseInterval> intervals);

// Gives every interval its step. Without marks and without an optimizer a step is one forward
// pass and what follows it up to the next: a token that is generated, a batch that is evaluated.
void number_steps(PhaseTable* table);

}  // namespace peakline::report
