// --by freed-by: the line that freed the block, if the recording has the stacks of frees (`peakline
// run --frees`). A free may have no line of its own: the garbage collector runs wherever it is
// called or becomes due, the autograd engine frees memory that a forward line saved, and some
// threads run no Python. Without stacks the phase is known.
#include <algorithm>
#include <iterator>

#include "report/attribute/grouping.h"

namespace peakline::report {
namespace {

// The kinds of facets: freed at a context or, if the free has no stack, in a phase.
enum Kind : uint32_t { kStillLive, kAtContext, kInPhase };

// CPython's functions that destroy reference cycles, in all supported versions.
constexpr const char* kCollectors[] = {"delete_garbage",
                                       "gc_collect_main",
                                       "gc_collect_region",
                                       "gc_collect_young",
                                       "gc_collect_full",
                                       "gc_collect_generations",
                                       "_PyGC_Collect",
                                       "PyGC_Collect",
                                       "_Py_RunGC"};

bool is_collecting(StackLookup& stacks, uint32_t node) {
    const Definitions& definitions = stacks.definitions();
    for (; node != 0; node = definitions.native_nodes[node].parent) {
        const std::string& name = stacks.symbols().name(definitions.native_nodes[node].frame);
        const auto is_it = [&name](const char* collector) { return name == collector; };
        if (std::any_of(std::begin(kCollectors), std::end(kCollectors), is_it)) {
            return true;
        }
    }
    return false;
}

void put_prefix(const std::string& prefix, Label* label) {
    label->key = prefix + label->key;
    label->prefix = prefix + label->prefix;
}

}  // namespace

Facet freed_facet(const TrackedBlock& block, const BlockHistory& history, FacetHelp&) {
    if (!history.is_freed) {
        return {kStillLive};
    }
    return block.facts.free_context != 0 ? Facet{kAtContext, block.facts.free_context}
                                         : Facet{kInPhase, static_cast<uint32_t>(history.freed_in)};
}

BlockRow row_of_free(StackLookup& stacks, uint32_t context_id) {
    BlockGroup free;
    free.context = context_id;
    BlockRow row = row_by_line(stacks, free);
    const Context& context = stacks.definitions().contexts[context_id];
    if (row.label.frames.empty()) {
        const std::string thread = row_by_thread(stacks, free).label.name;
        return named_row(row.label.name + ", " + thread);
    }
    if (row.through_forward) {
        put_prefix("backward of ", &row.label);
    } else if (is_collecting(stacks, context.native_node)) {
        put_prefix("garbage collection at ", &row.label);
    }
    // These two describe the allocation.
    row.through_forward = false;
    row.via.clear();
    return row;
}

BlockRow row_by_freed(StackLookup& stacks, const BlockGroup& block) {
    if (block.facet.kind == kStillLive) {
        return named_row("still live at the end");
    }
    if (block.facet.kind == kInPhase) {
        const auto phase = static_cast<Phase>(block.facet.value);
        return named_row(phase == Phase::kOther ? std::string("between phases")
                                                : "in " + std::string(phase_name(phase)));
    }
    return row_of_free(stacks, block.facet.value);
}

}  // namespace peakline::report
