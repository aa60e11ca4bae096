// `layers`, `ops` and `stages`: reports that follow calls of modules and operators. JSON schema:
// JSON.md.
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
    const std::vector<LayerRow>& layers;  // empty except for `layers`
    const OperatorSeries& series;         // empty except for `ops`
    const Stages& stages;                 // empty except for `stages`
    const DeviceTotals& chosen;           // the device of the figures, or the sum
    uint64_t top;                         // rows shown; for stages: steps; 0: all
};

// Each adds its part to a document that begins with put_calls_head().
void put_layers(Document& document, const CallsReport& report);
void put_ops(Document& document, const CallsReport& report);
void put_stages(Document& document, const CallsReport& report);

// The head of all three reports: the run and its peak.
void put_calls_head(Document& document, const CallsReport& report);
// No cell when the trace has no segments.
Cell reserved_cell(const CallsReport& report, uint64_t bytes);

}  // namespace peakline::report
