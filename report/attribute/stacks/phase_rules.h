// What the program was doing, from a stack or from the name of a scope. The rules are two tables,
// in phase_rules.cpp; README.md says them in words.
#pragma once

#include <string_view>

#include "report/replay/values/phase.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// Of every context and every scope that the trace defines.
PhaseRules make_phase_rules(const Definitions& definitions);

// kNamed for a region that the program named itself.
Phase scope_phase(std::string_view name);

}  // namespace peakline::report
