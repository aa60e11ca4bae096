// --by lifetime: how long blocks are held. `retained` memory is what outlives the phase that made
// it; the rest is transient.
#include "grouping.h"

namespace peakline::report {
namespace {

// Facets: a phase that the block was held to, or one of these.
enum : uint32_t { kToTheEnd = 100, kWithinOperator, kWithinPhase, kToLaterStep };

bool is_optimizer(Phase phase) {
    return phase == Phase::kOptimizer || phase == Phase::kZeroGrad;
}

}  // namespace

uint32_t lifetime_facet(const TrackedBlock&, const BlockHistory& history, FacetHelp&) {
    if (!history.is_freed) {
        return kToTheEnd;
    }
    if (history.within_operator) {
        return kWithinOperator;
    }
    if (history.within_phase) {
        return kWithinPhase;
    }
    if (is_optimizer(history.freed_in) && history.steps_outlived <= 1) {
        return static_cast<uint32_t>(Phase::kOptimizer);
    }
    return history.steps_outlived > 0 ? uint32_t{kToLaterStep}
                                      : static_cast<uint32_t>(history.freed_in);
}

Placement place_by_lifetime(StackLookup&, const BlockGroup& block) {
    switch (block.facet) {
        case kToTheEnd:
            return named_placement("held to the end");
        case kWithinOperator:
            return named_placement("freed within the operator");
        case kWithinPhase:
            return named_placement("freed within the phase");
        case kToLaterStep:
            return named_placement("held to a later step");
        case static_cast<uint32_t>(Phase::kOptimizer):
            return named_placement("held to the optimizer");
        case static_cast<uint32_t>(Phase::kOther):
            return named_placement("held beyond the phase");
        default:
            return named_placement(std::string("held to ") +
                                   phase_name(static_cast<Phase>(block.facet)));
    }
}

}  // namespace peakline::report
