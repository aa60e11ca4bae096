// The facts about contexts that replay needs to follow calls of operators and modules without
// knowing stacks. Plain data; report/attribute fills it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "report/replay/values/phase.h"

namespace peakline::report {

// The facts from the stack of a context.
struct ContextCall {
    uint32_t chain = 0;         // index of CallRules::chains: the layers around it
    uint32_t running = 0;       // the same, in a forward or backward pass; else 0
    uint32_t operation = 0;     // index of CallRules::operations: the operator that allocated
    uint32_t operator_key = 0;  // equal for the allocations of one operator call
    uint32_t thread = 0;        // id in the definitions
    Phase phase = Phase::kNone;
};

struct ChainLayer {
    uint32_t layer = 0;
    // Its own call runs, forward or backward. False for a container that nobody calls, and for the
    // modules around a part that checkpointing recomputes.
    bool is_called = false;

    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 is the compiler's own.
    auto operator<=>(const ChainLayer&) const = default;
};

struct CallRules {
    std::vector<ContextCall> contexts;            // by context id
    std::vector<std::vector<ChainLayer>> chains;  // outermost first; [0] is empty
    std::vector<std::vector<uint32_t>> holders;   // by chain: its layers, each once
    // by tensor id: the layer that owns it and the layers around it
    std::vector<uint32_t> tensor_chains;
    std::vector<std::string> layers;      // names
    std::vector<std::string> operations;  // names, "addmm.default"
};

}  // namespace peakline::report
