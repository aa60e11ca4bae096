#include "tensors.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "report/attribute/block_history.h"
#include "report/attribute/facets.h"

namespace peakline::report {
namespace {

// Texts of one grouping, computed once for equal blocks.
class Texts {
public:
    Texts(const char* by, StackLookup& stacks, FacetHelp& help)
        : grouping_(find_grouping(by)), stacks_(stacks), help_(help) {}

    const Label& of(const TrackedBlock& block, const BlockHistory& history) {
        BlockGroup group = block.block;
        group.facet =
            grouping_.facet != nullptr ? grouping_.facet(block, history, help_) : group.facet;
        const std::tuple key{group.context, group.stream, group.device, group.tensor, group.facet};
        const auto [at, is_new] = labels_.try_emplace(key);
        if (is_new) {
            at->second = grouping_.row_of(stacks_, group).label;
        }
        return at->second;
    }

private:
    const Grouping& grouping_;
    StackLookup& stacks_;
    FacetHelp& help_;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, Facet>, Label> labels_;
};

std::vector<Location> stack_of(StackLookup& stacks, uint32_t context) {
    std::vector<Location> locations;
    for (const uint32_t frame : stacks.shown_frames(stacks.stack_of(context))) {
        locations.push_back(location_of(stacks.definitions(), frame));
    }
    return locations;
}

struct RowMaker {
    explicit RowMaker(StackLookup& lookup, const PhaseTable& phases)
        : stacks(lookup), histories(phases, lookup.phase_rules()), help{lookup, histories} {}

    TensorRow make(const TrackedBlock& block) {
        const BlockHistory history = histories.of(block);
        TensorRow row;
        row.block = block;
        row.name = block.block.tensor != 0 ? tensor.of(block, history).name : std::string();
        row.type = stacks.definitions().type_of(block.ordinal);
        row.category = category.of(block, history).name;
        row.module = module.of(block, history).name;
        row.operation = operation.of(block, history).name;
        row.phase = phase.of(block, history).name;
        row.step = step.of(block, history).name;
        row.lifetime = lifetime.of(block, history).name;
        row.made_at = line.of(block, history);
        row.freed_by = freed.of(block, history);
        row.create_stack = stack_of(stacks, block.block.context);
        if (block.facts.free_context != 0) {
            row.release_stack = stack_of(stacks, block.facts.free_context);
        }
        return row;
    }

    StackLookup& stacks;
    BlockHistories histories;
    FacetHelp help;
    Texts tensor{"tensor", stacks, help};
    Texts category{"category", stacks, help};
    Texts module{"module", stacks, help};
    Texts operation{"op", stacks, help};
    Texts phase{"phase", stacks, help};
    Texts step{"step", stacks, help};
    Texts lifetime{"lifetime", stacks, help};
    Texts line{"line", stacks, help};
    Texts freed{"freed-by", stacks, help};
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
