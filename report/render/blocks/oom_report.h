// `oom`: why a request was refused, in two forms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/refused/refused_holders.h"
#include "report/views/refused/refused_lines.h"
#include "report/views/refused/serving_setting.h"

namespace peakline::report {

struct OomReport {
    const TraceReader& reader;
    const RefusedRequests& refused;
    const Autopsy& autopsy;
    std::vector<RefusedLine> others;  // most requests first; without the one that is shown
    const RefusedHolders* holders;    // nullptr: none are known
    ServingSetting serving;
    uint64_t top;  // rows shown; 0: all
    PathDisplay paths;
};

std::string oom_text(const OomReport& report);
std::string oom_json(const OomReport& report);
// Of a trace where nothing was refused.
std::string no_oom_json(const TraceReader& reader);

}  // namespace peakline::report
