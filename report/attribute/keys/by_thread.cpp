// --by thread: the thread that allocated the block.
#include "report/attribute/grouping.h"

namespace peakline::report {

BlockRow row_by_thread(StackLookup& stacks, const BlockGroup& block) {
    const Definitions& definitions = stacks.definitions();
    if (is_untraced(stacks, block)) {
        return named_row(kUntracedName);
    }
    const uint32_t id = definitions.contexts[block.context].thread;
    if (id == 0) {
        return named_row("unknown thread");
    }
    const Thread& thread = definitions.threads[id];
    const std::string name(definitions.text(thread.name));
    return named_row("thread " + std::to_string(thread.kernel_id) +
                     (name.empty() ? name : " (" + name + ")"));
}

}  // namespace peakline::report
