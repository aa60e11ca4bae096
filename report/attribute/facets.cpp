#include "facets.h"

#include "report/replay/blocks/block_groups.h"

namespace peakline::report {

Facet phase_facet(const TrackedBlock&, const BlockHistory& history, FacetHelp&) {
    return {.value = static_cast<uint32_t>(history.made_in)};
}

void group_by_facet(FacetOfBlock* facet_of,
                    StackLookup& stacks,
                    const PhaseTable& phases,
                    LiveBlocks* blocks) {
    const BlockHistories histories(phases, stacks.phase_rules());
    FacetHelp help{stacks, histories};
    BlockGroups groups;
    for (const TrackedBlock& block : blocks->blocks) {
        BlockGroup group = block.block;
        group.facet = facet_of(block, histories.of(block), help);
        groups.add(block.ordinal, group);
    }
    blocks->groups = groups.list();
}

}  // namespace peakline::report
