// The levels of a run by its steps as JSON, by which runs are laid over each other: `peakline html`
// of several traces, and `plot --kind compare`. Only for pages/ of the same version.
#pragma once

#include <string>

#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/page/step_levels.h"

namespace peakline::report {

struct StepLevelsReport {
    const TraceReader& reader;
    const StepLevels& levels;
    const PathDisplay& paths;
};

std::string step_levels_json(const StepLevelsReport& report);

}  // namespace peakline::report
