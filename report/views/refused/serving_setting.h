// Finds a setting of torch's allocator that serves a refused request.
#pragma once

#include <string>

#include "autopsy.h"

namespace peakline::report {

struct ServingSetting {
    bool is_known = false;  // the run was replayed
    std::string text = {};  // empty: no tried setting serves the request
};

// Replays the run under the settings of `whatif --search`. Unknown if no setting could help, if the
// model does not reproduce this run, or if the trace is too long for an interactive command.
ServingSetting find_serving_setting(const TraceReader& reader,
                                    const Autopsy& autopsy,
                                    StackLookup& stacks,
                                    const Progress& progress);

}  // namespace peakline::report
