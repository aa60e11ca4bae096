// `layers`, `ops` and `stages`: what follows calls of modules and operators. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/render/document/document.h"
#include "report/replay/phases/phase_result.h"
#include "report/trace/reader.h"
#include "report/views/calls/layers.h"
#include "report/views/calls/operator_series.h"
#include "report/views/calls/stages.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct CallsReport {
    const TraceReader& reader;
    const Selection& selection;
    const PhaseResult& phases;
    const CallRules& rules;
    const CallResult& result;
    const OperatorSeries& series;  // empty where not `ops`
    const Stages& stages;          // empty where not `stages`
    const DeviceTotals& chosen;    // the device the figures are about, or the sum
    uint64_t top;                  // rows shown, of stages: steps; 0: all
};

// Each adds its part to a document that begins with put_calls_head().
void put_layers(Document& document, const CallsReport& report);
void put_ops(Document& document, const CallsReport& report);
void put_stages(Document& document, const CallsReport& report);

// The run and its peak, as all three reports begin.
void put_calls_head(Document& document, const CallsReport& report);
// Unknown where the trace has no segments.
Cell reserved_cell(const CallsReport& report, uint64_t bytes);

}  // namespace peakline::report
