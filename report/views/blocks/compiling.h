// The peak of a run without the memory that torch.compile takes only at first: to compile, to tune
// kernels, and to warm up CUDA graphs. Used by `table` and `summary`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct CompilingAtPeak {
    struct Part {
        std::string phase;
        uint64_t bytes = 0;
    };
    std::vector<Part> parts;          // live at the peak, most bytes first
    uint64_t peak_without_bytes = 0;  // the highest level of all other blocks
};

// `result`: of the peak of the whole run. nullopt: no such memory is live at the peak, or the trace
// does not keep every event. Takes a pass over the events only if there is such memory.
std::optional<CompilingAtPeak> find_compiling(const TraceReader& reader,
                                              const ReplayResult& result,
                                              format::Measure measure,
                                              StackLookup& stacks,
                                              const Progress& progress);

}  // namespace peakline::report
