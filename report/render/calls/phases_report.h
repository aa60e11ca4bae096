// `phases`: the levels of every phase of every step. JSON schema: JSON.md.
#pragma once

#include <cstdint>

#include "report/render/document/document.h"
#include "report/replay/phases/phase_result.h"
#include "report/trace/reader.h"
#include "report/views/calls/phases.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct PhasesReport {
    const TraceReader& reader;
    const Selection& selection;
    const PhaseResult& result;
    const DeviceTotals& chosen;  // the device of the figures, or the sum
    uint64_t top;                // steps shown; 0: all
};

void put_phases(Document& document, const PhasesReport& report);

}  // namespace peakline::report
