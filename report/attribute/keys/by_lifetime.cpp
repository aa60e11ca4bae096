// --by lifetime: how long blocks are held. `retained` memory outlives the phase that made it; the
// rest is transient.
#include "report/attribute/grouping.h"

namespace peakline::report {
namespace {

// The kinds of facets; for kToPhase the value is the phase.
enum Kind : uint32_t { kToPhase, kToTheEnd, kWithinOperator, kWithinPhase, kToLaterStep };

Facet held_to(Phase phase) {
    return {kToPhase, static_cast<uint32_t>(phase)};
}

const char* text_of(Phase phase) {
    return phase == Phase::kOptimizer ? "the optimizer" : phase_name(phase);
}

bool is_optimizer(Phase phase) {
    return phase == Phase::kOptimizer || phase == Phase::kZeroGrad;
}

}  // namespace

Facet lifetime_facet(const TrackedBlock&, const BlockHistory& history, FacetHelp&) {
    if (!history.is_freed) {
        return {kToTheEnd};
    }
    if (history.within_operator) {
        return {kWithinOperator};
    }
    if (history.within_phase) {
        return {kWithinPhase};
    }
    if (is_optimizer(history.freed_in) && history.steps_outlived <= 1) {
        return held_to(Phase::kOptimizer);
    }
    return history.steps_outlived > 0 ? Facet{kToLaterStep} : held_to(history.freed_in);
}

BlockRow row_by_lifetime(StackLookup&, const BlockGroup& block) {
    const auto phase = static_cast<Phase>(block.facet.value);
    switch (static_cast<Kind>(block.facet.kind)) {
        case kToTheEnd:
            return named_row("held to the end");
        case kWithinOperator:
            return named_row("freed within the operator");
        case kWithinPhase:
            return named_row("freed within the phase");
        case kToLaterStep:
            return named_row("held to a later step");
        case kToPhase:
            break;
    }
    return named_row(phase == Phase::kOther ? "held beyond the phase"
                                            : std::string("held to ") + text_of(phase));
}

}  // namespace peakline::report
