// The first pass over the events: phases, the facts of each block, and the device that is shown.
#pragma once

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/all_facts.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/phases/phase_replay.h"
#include "report/replay/phases/phase_result.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

class FirstPass {
    BlockStream stream_;
    PhaseReplay replay_;

public:
    // Throws TraceError if the trace cannot be read, or lacks the requested device.
    FirstPass(const TraceReader& reader,
              const Selection& selection,
              StackLookup& stacks,
              const Progress& progress);

    AllFacts facts;
    PhaseResult phases;
    DeviceTotals chosen;
};

}  // namespace peakline::report
