// One pass over the events: calls of operators and modules, what every layer held, and the levels
// at chosen moments. Its time follows the events and the depth of modules, not their product with
// phases or layers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "call_result.h"
#include "call_rules.h"
#include "replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct CallRequest {
    std::optional<uint32_t> device;  // nullopt: all of them together
    bool keeps_operators = false;
    bool keeps_layers = false;  // every call; what the layers hold is always told
    // Before these events, ascending, nothing goes on: where phases begin and end.
    std::vector<uint64_t> moments;
};

struct CallResult {
    std::vector<OperatorCall> operators;  // in order of their begin
    std::vector<LayerCall> layer_calls;   // the same; a layer before those within it
    std::vector<LayerUse> layers;         // by layer
    std::vector<MomentLevels> moments;    // in their order
    MemoryLevels end;
    bool knows_reserved = false;
};

CallResult replay_calls(const TraceReader& reader,
                        const CallRules& rules,
                        CallRequest request,
                        const Progress& progress = {});

}  // namespace peakline::report
