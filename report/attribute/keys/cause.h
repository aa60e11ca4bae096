// Rows for memory of torch.compile itself: "autotuning for model.py:12 (forward)". Their line
// caused the memory and does not hold it.
#pragma once

#include <string>

#include "report/attribute/names/label.h"
#include "report/replay/values/phase.h"

namespace peakline::report {

// Returns "autotuning for ".
inline std::string cause_prefix(Phase phase) {
    return std::string(phase_name(phase)) + " for ";
}

inline bool is_cause(const Label& label) {
    return label.prefix == cause_prefix(Phase::kCompilation) ||
           label.prefix == cause_prefix(Phase::kAutotuning);
}

}  // namespace peakline::report
