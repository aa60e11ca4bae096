// The recordings of `plan --sizes`: read once, their sizes completed, and the allocations of each
// aligned with those of the largest one, the base. Predicts nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generation_parts.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"
#include "run_events.h"
#include "size_words.h"

namespace peakline::report {

struct SizedRun {
    StepSize size;
    std::string name;
    RunEvents events;
    std::vector<uint32_t> block_of;  // by block of the base: the same one here, or kNotAligned
    uint64_t only_here = 0;          // blocks that the base lacks
};

struct SizedRuns {
    TraceHealth health;  // of the first one
    uint32_t device = 0;
    std::string refusal;  // why they predict nothing; empty: they may
    std::vector<SizedRun> runs;
    std::vector<AskedSize> targets;  // with the sides that all runs share
    size_t base = 0;                 // in `runs`
    GenerationParts generation;      // of the base; empty if no target asks for new tokens
    OriginNumbers origins;
};

// `reader`: of the first recording. Throws TraceError.
SizedRuns read_sized_runs(const TraceReader& reader,
                          const Selection& selection,
                          const SizesText& text,
                          const Progress& progress);

}  // namespace peakline::report
