// `layers`, `ops` and `stages`: what follows calls of modules and operators, in its two forms.
// JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/render/format/json_writer.h"
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
    size_t width;                  // columns of the terminal; 0: no limit
};

std::string layers_text(const CallsReport& report);
std::string layers_json(const CallsReport& report);
std::string ops_text(const CallsReport& report);
std::string ops_json(const CallsReport& report);
std::string stages_text(const CallsReport& report);
std::string stages_json(const CallsReport& report);

// What the three have in common: the fields after `file`, and the first lines.
void put_calls_head(JsonWriter& json, const CallsReport& report);
std::string calls_head_text(const CallsReport& report);
// Null where the trace has no segments.
void put_reserved(JsonWriter& json, const CallsReport& report, const char* key, uint64_t bytes);
std::string reserved_text(const CallsReport& report, uint64_t bytes);
std::string optional_step_text(const std::optional<uint32_t>& step);

}  // namespace peakline::report
