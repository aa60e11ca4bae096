// `tensors` in its two forms. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <string>

#include "report/render/facts/where_report.h"
#include "report/render/format/path_display.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
#include "report/views/blocks/tensors.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct TensorsReport {
    const TraceReader& reader;
    const Selection& selection;
    const ReplayResult& result;
    const TensorList& list;
    uint64_t top;  // rows shown; 0: all
    PathDisplay paths;
    ShownPart part;
};

std::string tensors_text(const TensorsReport& report);
std::string tensors_json(const TensorsReport& report);

}  // namespace peakline::report
