// The layers around an allocation, from its stack or from the module that owns its tensor. Used by
// call_rules only.
//
// Note [Containers]
// A ModuleList is not called: only its items run. So every part of a module's path is a layer
// around it, even without a call on the stack: a layer holds at least the memory of the layers
// below its path.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/attribute/names/numbers.h"
#include "report/replay/calls/call_rules.h"
#include "stack_lookup.h"

namespace peakline::report {

class ModuleChains {
public:
    // `stacks` must outlive the chains.
    explicit ModuleChains(StackLookup& stacks);

    // Ids in CallRules::chains. 0: no module.
    uint32_t of_context(const Context& context, Phase phase);
    uint32_t of_owner(uint32_t instance);

    // Moves chains, holders and layers to `rules`; call it last.
    void take(CallRules* rules);

private:
    using Chain = std::vector<ChainLayer>;

    Chain from_stacks(const Context& context, Phase phase);
    uint32_t layer_at(uint32_t root, const std::string& path);
    void add_containers(uint32_t instance, Chain* chain);
    void add_module(uint32_t instance, bool is_called, Chain* chain);

    StackLookup& stacks_;
    const Definitions& definitions_;
    Numbers<Chain> chains_;
    Numbers<std::string> layers_;
    std::map<std::tuple<uint32_t, uint32_t, bool>, uint32_t> known_;  // by the nodes of a context
};

}  // namespace peakline::report
