// One pass over the events: calls of operators and modules, the memory of every layer, and the
// levels at chosen moments. Its time depends on the events and the depth of modules, not on their
// product with phases or layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "call_result.h"
#include "call_rules.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct CallRequest {
    std::optional<uint32_t> device;  // nullopt: all GPUs together
    // Called with every call: operators in the order of their beginnings, layers in the order of
    // their ends. Layers only with their own calls. An empty function: not needed. The memory of
    // layers is always in the result.
    std::function<void(const OperatorCall&)> on_operator;
    std::function<void(const LayerCall&)> on_layer;
    // When more calls wait for an earlier one to end, end that one: a thread that never allocates
    // again would hold back the calls of all others.
    size_t most_waiting_operators = size_t{1} << 18;
    // Counts the layers' use in this part of the run only: calls that begin in it.
    std::vector<EventRange> during = {};
    // Ends all calls before these events, ascending: the boundaries of phases.
    std::vector<uint64_t> moments;
};

struct CallResult {
    std::vector<LayerUse> layers;       // by layer
    std::vector<MomentLevels> moments;  // in their order
    MemoryLevels end;
    bool knows_reserved = false;
};

CallResult replay_calls(const TraceReader& reader,
                        const CallRules& rules,
                        CallRequest request,
                        const Progress& progress = {});

}  // namespace peakline::report
