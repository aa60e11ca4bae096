// What replay must know of contexts to follow calls of operators and modules without knowing
// stacks. Plain data; report/attribute fills it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "report/replay/values/phase.h"

namespace peakline::report {

// What the stack of a context says.
struct ContextCall {
    uint32_t chain = 0;         // of CallRules::chains: the layers around it
    uint32_t running = 0;       // the same, in a forward or backward pass; else 0
    uint32_t operation = 0;     // of CallRules::operations: who asked for the memory
    uint32_t operator_key = 0;  // equal for the allocations of one operator call
    uint32_t thread = 0;        // id in the definitions
    Phase phase = Phase::kNone;
};

struct ChainLayer {
    uint32_t layer = 0;
    // Its own call goes on, forward or backward. Not so: a container that nobody calls, and what
    // is around a part that checkpointing computes again.
    bool is_called = false;

    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 is the compiler's own.
    auto operator<=>(const ChainLayer&) const = default;
};

struct CallRules {
    std::vector<ContextCall> contexts;            // by context id
    std::vector<std::vector<ChainLayer>> chains;  // the outermost first; [0] is empty
    std::vector<std::vector<uint32_t>> holders;   // by chain: its layers, each once
    std::vector<uint32_t> tensor_chains;          // by tensor id: the layer that owns it, and those
                                                  // around it
    std::vector<std::string> layers;              // names
    std::vector<std::string> operations;          // names, "addmm.default"
};

}  // namespace peakline::report
