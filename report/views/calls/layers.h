// The layers of a model over the whole trace, largest first. Pure aggregation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/replay/calls/call_replay.h"
#include "report/replay/calls/call_rules.h"

namespace peakline::report {

struct LayerRow {
    std::string name;
    LayerUse use;
    // Mean of (reserved - allocated) / reserved; nullopt when the trace lacks it.
    std::optional<double> fragmentation;
};

// Sorted by the most bytes that a layer held at one time.
std::vector<LayerRow> build_layers(const CallResult& result, const CallRules& rules);

}  // namespace peakline::report
