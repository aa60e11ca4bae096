// One pass over the events: calls of operators and modules, what every layer held, and the levels
// at chosen moments. Its time follows the events and the depth of modules, not their product with
// phases or layers.
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
    // Called with every call, of operators in the order of their begins, of layers in that of their
    // ends; empty: they are not wanted. Of layers only calls of their own. What the layers hold is
    // always in the result.
    std::function<void(const OperatorCall&)> on_operator;
    std::function<void(const LayerCall&)> on_layer;
    // When more calls wait for one that began before them, that one is over: a thread that never
    // allocates again would hold back all that others do.
    size_t most_waiting_operators = size_t{1} << 18;
    // What layers do and hold counts in this part of the run only: calls that begin in it.
    std::vector<EventRange> during = {};
    // Before these events, ascending, nothing goes on: where phases begin and end.
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
