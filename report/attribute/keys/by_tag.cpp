// --by tag: the program's own name for the memory, from torch.cuda.memory._set_memory_metadata().
// Snapshots of torch have it; recordings do not, see docs/exports.md.
#include "report/attribute/grouping.h"

namespace peakline::report {

BlockRow row_by_tag(StackLookup& stacks, const BlockGroup& block) {
    if (is_untraced(stacks, block)) {
        return named_row(kUntracedName);
    }
    const std::string_view tag = stacks.definitions().tag_of(block.context);
    return named_row(tag.empty() ? "no tag" : std::string(tag));
}

}  // namespace peakline::report
