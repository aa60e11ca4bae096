#include "tensors.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "block_texts.h"

namespace peakline::report {
namespace {

// Empty without a context (0): what it is of was not recorded.
std::vector<Location> stack_of(StackLookup& stacks, uint32_t context) {
    std::vector<Location> locations;
    if (context == 0) {
        return locations;
    }
    for (const uint32_t frame : stacks.shown_frames(stacks.stack_of(context))) {
        locations.push_back(location_of(stacks.definitions(), frame));
    }
    return locations;
}

struct RowMaker {
    RowMaker(StackLookup& lookup, const PhaseTable& phases)
        : stacks(lookup), texts(lookup, phases) {}

    TensorRow make(const TrackedBlock& block) {
        const BlockHistory history = texts.history_of(block);
        TensorRow row;
        row.block = block;
        row.name = texts.name_of(block, history);
        row.type = stacks.definitions().type_of(block.ordinal);
        row.category = category.of(block, history).name;
        row.module = module.of(block, history).name;
        row.operation = operation.of(block, history).name;
        row.phase = phase.of(block, history).name;
        row.step = step.of(block, history).name;
        row.lifetime = lifetime.of(block, history).name;
        row.made_at = line.of(block, history);
        row.freed_by = texts.freed_by(block, history);
        row.saved_by = texts.saved_by(block);
        row.create_stack = stack_of(stacks, block.block.context);
        row.save_stack = stack_of(stacks, block.facts.saved_context);
        row.release_stack = stack_of(stacks, block.facts.free_context);
        return row;
    }

    StackLookup& stacks;
    BlockTexts texts;
    GroupingTexts category{"category", stacks, texts.help()};
    GroupingTexts module{"module", stacks, texts.help()};
    GroupingTexts operation{"op", stacks, texts.help()};
    GroupingTexts phase{"phase", stacks, texts.help()};
    GroupingTexts step{"step", stacks, texts.help()};
    GroupingTexts lifetime{"lifetime", stacks, texts.help()};
    GroupingTexts line{"line", stacks, texts.help()};
};

}  // namespace

TensorList build_tensors(const ReplayResult& result,
                         format::Measure measure,
                         uint64_t min_bytes,
                         StackLookup& stacks) {
    TensorList list;
    RowMaker maker(stacks, result.phases);
    for (const TrackedBlock& block : result.blocks.blocks) {
        const uint64_t bytes = measure == format::Measure::kAllocated ? block.block.block_bytes
                                                                      : block.block.requested_bytes;
        list.shown_bytes += bytes;
        if (bytes < min_bytes) {
            ++list.hidden_count;
            list.hidden_bytes += bytes;
            continue;
        }
        list.rows.push_back(maker.make(block));
        list.rows.back().bytes = bytes;
    }
    list.total_bytes = list.shown_bytes + result.blocks.left_out_bytes;
    std::sort(list.rows.begin(), list.rows.end(), [](const TensorRow& a, const TensorRow& b) {
        return std::tie(b.bytes, a.block.ordinal) < std::tie(a.bytes, b.block.ordinal);
    });
    return list;
}

}  // namespace peakline::report
