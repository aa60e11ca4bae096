// The options of `plan`, as callers give them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace peakline::report {

struct PlanText {
    uint64_t budget_bytes = 0;            // of the allocator's blocks
    std::string budget_of = "allocated";  // or "device": for programs that read the result
    std::string recomputed;               // a recording with all layers checkpointed; empty: none
    std::vector<std::string> layers;      // checkpoint these instead of searching; empty: search
    std::vector<std::string> flops;  // "h.0=141733920768" by layer; "=7154000000000": of a step
};

}  // namespace peakline::report
