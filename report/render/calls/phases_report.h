// `phases` in its two forms. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <string>

#include "report/replay/phases/phase_result.h"
#include "report/trace/reader.h"
#include "report/views/calls/phases.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct PhasesReport {
    const TraceReader& reader;
    const Selection& selection;
    const PhaseResult& result;
    const DeviceTotals& chosen;  // the device the figures are about, or the sum
    uint64_t top;                // steps shown; 0: all
};

std::string phases_text(const PhasesReport& report);
std::string phases_json(const PhasesReport& report);

}  // namespace peakline::report
