// --by freed-by: who gave the block up. A trace need not hold the stacks of frees; without
// one the phase is known.
#include "grouping.h"

namespace peakline::report {
namespace {

constexpr uint32_t kStillLive = UINT32_MAX;
// Above all contexts: facets of frees without a stack, by phase.
constexpr uint32_t kFirstPhase = UINT32_MAX - 100;

}  // namespace

uint32_t freed_facet(const TrackedBlock& block, const BlockHistory& history, FacetHelp&) {
    if (!history.is_freed) {
        return kStillLive;
    }
    return block.facts.free_context != 0 ? block.facts.free_context
                                         : kFirstPhase + static_cast<uint32_t>(history.freed_in);
}

Placement place_by_freed(StackLookup& stacks, const BlockGroup& block) {
    if (block.facet == kStillLive) {
        return named_placement("still live at the end");
    }
    if (block.facet >= kFirstPhase) {
        const auto phase = static_cast<Phase>(block.facet - kFirstPhase);
        return named_placement("in " + std::string(phase_name(phase)) + " (stack not recorded)");
    }
    BlockGroup free;
    free.context = block.facet;
    free.stream = block.stream;
    free.device = block.device;
    return place_by_line(stacks, free);
}

}  // namespace peakline::report
