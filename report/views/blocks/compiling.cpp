#include "compiling.h"

#include <algorithm>
#include <map>

#include "report/attribute/keys/stack_category.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/totals/altered_levels.h"

namespace peakline::report {
namespace {

// A library keeps its workspace for the program's own calls.
bool is_taken_at_first(StackLookup& stacks, uint32_t context) {
    return is_before_steady(stacks.phase_rules().contexts[context].phase) &&
           native_category(stacks, stacks.definitions().contexts[context].native_node) !=
               Category::kWorkspace;
}

std::vector<bool> contexts_at_first(StackLookup& stacks) {
    std::vector<bool> contexts(stacks.definitions().contexts.count() + 1);
    for (uint32_t id = 1; id < contexts.size(); ++id) {
        contexts[id] = is_taken_at_first(stacks, id);
    }
    return contexts;
}

// The peak of the blocks of all other contexts, while tracing is on.
class OtherBlocks : public BlockFollower {
public:
    OtherBlocks(format::Measure measure,
                std::optional<uint32_t> device,
                std::vector<bool> left_out_contexts)
        : counter_(measure, device), left_out_(std::move(left_out_contexts)) {}

    void on_alloc(const BlockAlloc& block) {
        if (!left_out_[block.shape.context]) {
            counter_.on_alloc(block);
            note();
        }
    }
    void on_free(const BlockFree& block) {
        if (!left_out_[block.shape.context]) {
            counter_.on_free(block);
        }
    }
    void on_rare(const RareEvent& event, EventTime at) {
        counter_.on_rare(event, at);
        note();
    }

    uint64_t peak_bytes() const { return peak_bytes_; }

private:
    void note() {
        if (counter_.is_tracing()) {
            peak_bytes_ = std::max(peak_bytes_, counter_.level());
        }
    }

    LevelCounter counter_;
    std::vector<bool> left_out_;
    uint64_t peak_bytes_ = 0;
};

std::vector<CompilingAtPeak::Part> parts_of(const std::vector<BlockGroup>& groups,
                                            format::Measure measure,
                                            StackLookup& stacks) {
    std::map<Phase, uint64_t> bytes;
    for (const BlockGroup& group : groups) {
        if (group.context != 0 && is_taken_at_first(stacks, group.context)) {
            bytes[stacks.phase_rules().contexts[group.context].phase] +=
                group.count * (measure == format::Measure::kAllocated ? group.block_bytes
                                                                      : group.requested_bytes);
        }
    }
    std::vector<CompilingAtPeak::Part> parts;
    for (const auto& [phase, sum] : bytes) {
        parts.push_back({phase_name(phase), sum});
    }
    std::stable_sort(
        parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return parts;
}

}  // namespace

std::optional<CompilingAtPeak> find_compiling(const TraceReader& reader,
                                              const ReplayResult& result,
                                              format::Measure measure,
                                              StackLookup& stacks,
                                              const Progress& progress) {
    CompilingAtPeak found;
    found.parts = parts_of(result.blocks.groups, measure, stacks);
    if (found.parts.empty() || !reader.has_events() || reader.checkpoint() != nullptr) {
        return std::nullopt;
    }
    BlockStream stream(reader);
    const auto device = result.is_sum ? std::nullopt : std::optional(result.chosen.device);
    OtherBlocks others(measure, device, contexts_at_first(stacks));
    stream.run(progress, others);
    found.peak_without_bytes = others.peak_bytes();
    return found;
}

}  // namespace peakline::report
