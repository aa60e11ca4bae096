// Computes the need of a recorded run under other settings of torch's allocator and on other
// devices. The model reproduces the run first; if it cannot, nothing is predicted unless requested.
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
    // the first request that only the recorded run was refused
    std::optional<WhatIfRefusal> served;
    std::optional<uint64_t> smallest_device_bytes;
    // Compared with the recorded settings: more reserved at the peak, or newly out of memory.
    bool is_worse = false;
};

struct WhatIf {
    VerifiedRun verified;
    std::optional<Label> difference_line;
    // The recorded settings on the requested device; nullopt: nothing was predicted.
    std::optional<WhatIfRun> recorded;
    std::vector<WhatIfRun> runs;
    uint64_t device_bytes = 0;  // for all runs; 0: not limited
    uint64_t floor_bytes = 0;   // no allocator reserves less for these blocks
    bool sees_calls = false;    // the recording has pools and emptied caches
};

// Throws TraceError when settings, phase or trace allow no result.
WhatIf make_whatif_runs(const TraceReader& reader,
                        const WhatIfText& text,
                        std::optional<uint32_t> device,
                        StackLookup& stacks,
                        const Progress& progress);

}  // namespace peakline::report
