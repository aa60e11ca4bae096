// `advise` in its two forms. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <string>

#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/advice/advice.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct AdviseReport {
    const TraceReader& reader;
    const Selection& selection;
    const AdviceReport& found;
    uint64_t top;  // pieces of advice shown; 0: all
    PathDisplay paths;
};

std::string advise_text(const AdviseReport& report);
std::string advise_json(const AdviseReport& report);

}  // namespace peakline::report
