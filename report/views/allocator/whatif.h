// What a recorded run would need under other settings of torch's allocator and on other devices.
// The model reproduces the run first; where it does not, nothing is predicted unless asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/allocator_replay/prediction.h"
#include "whatif_text.h"

namespace peakline::report {

struct WhatIfRefusal {
    Label line;
    uint64_t requested_bytes = 0;
    uint64_t tick = 0;
    std::string phase;
    std::optional<uint32_t> step;
};

struct WhatIfRun {
    Prediction prediction;
    std::optional<WhatIfRefusal> refused;
    std::optional<WhatIfRefusal> served;  // the first of those that the recorded run was refused
    std::optional<uint64_t> smallest_device_bytes;
    // Than the recorded settings: more reserved at the peak, or out of memory where they are not.
    bool is_worse = false;
};

struct WhatIf {
    VerifiedRun verified;
    std::optional<Label> difference_line;
    // Of the recorded settings on the device asked for; nullopt: nothing was predicted.
    std::optional<WhatIfRun> recorded;
    std::vector<WhatIfRun> runs;
    uint64_t device_bytes = 0;  // of all runs; 0: not limited
    bool sees_calls = false;    // the recording saw pools and emptied caches
};

// Throws TraceError where settings, phase or trace allow no answer.
WhatIf make_whatif_runs(const TraceReader& reader,
                        const WhatIfText& text,
                        std::optional<uint32_t> device,
                        StackLookup& stacks,
                        const Progress& progress);

}  // namespace peakline::report
