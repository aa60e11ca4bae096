// Finds the program's phase from a stack or from the name of a scope. The rules are two tables in
// phase_rules.cpp; RULES.md explains them.
#pragma once

#include <string_view>

#include "report/replay/values/phase.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// Rules for every context and every scope that the trace defines.
PhaseRules make_phase_rules(const Definitions& definitions);

// kNamed for a region named by the program.
Phase scope_phase(std::string_view name);

}  // namespace peakline::report
