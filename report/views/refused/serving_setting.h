// A setting of torch's allocator under which a request that was refused is served.
#pragma once

#include <string>

#include "autopsy.h"

namespace peakline::report {

struct ServingSetting {
    bool is_known = false;  // the run was replayed
    std::string text = {};  // empty: nothing that was tried serves the request
};

// Replays the run under what `whatif --search` tries. Unknown where no setting could help, where
// the model does not make this run again, and where the trace is too long for a reader who waits.
ServingSetting find_serving_setting(const TraceReader& reader,
                                    const Autopsy& autopsy,
                                    StackLookup& stacks,
                                    const Progress& progress);

}  // namespace peakline::report
