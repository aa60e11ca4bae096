// `oom`: why a request was refused, in two forms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/refused/refused_lines.h"

namespace peakline::report {

struct OomReport {
    const TraceReader& reader;
    const RefusedRequests& refused;
    const Autopsy& autopsy;
    std::vector<RefusedLine> others;  // most requests first; without the one that is shown
    const HolderList* holders;        // found when this request was refused; nullptr: none
    uint64_t top;                     // rows shown; 0: all
    PathDisplay paths;
};

std::string oom_text(const OomReport& report);
std::string oom_json(const OomReport& report);

}  // namespace peakline::report
