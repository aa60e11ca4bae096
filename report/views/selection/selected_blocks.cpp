#include "selected_blocks.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "report/replay/all_facts.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/blocks/ordinal_table.h"
#include "report/replay/phases/phase_replay.h"

namespace peakline::report {
namespace {

// The context of each block's free, which AllFacts does not keep.
class FreeContexts : public BlockFollower {
public:
    explicit FreeContexts(const BlockStream& stream)
        : definitions_(stream.definitions()), contexts_(stream.reader().max_alloc_count()) {}

    void on_free(const BlockFree& block) {
        const uint32_t context = definitions_.known_context(block.context);
        if (!is_main_over_ && context != 0 && contexts_.at(block.ordinal) == 0) {
            contexts_.put(block.ordinal, context);
        }
    }
    void on_main_end(EventTime) { is_main_over_ = true; }

    uint32_t of(uint64_t ordinal) const { return contexts_.at(ordinal); }

private:
    const Definitions& definitions_;
    OrdinalTable contexts_;
    bool is_main_over_ = false;
};

// The life of every block, and the facets that the keys derive from it.
class Lives {
public:
    Lives(const TraceReader& reader, BlockKeys& keys, const Progress& progress)
        : stream_(reader),
          phases_(stream_, keys.stacks().phase_rules(), PhaseRequest()),
          facts_(reader, keys.stacks().phase_rules(), format::Measure::kAllocated, phases_),
          frees_(stream_) {
        stream_.run(progress, phases_, facts_, frees_);
        table_ = phases_.finish().table;
        facets_.emplace(keys, table_);
    }

    uint32_t facets_of(uint64_t ordinal, const BlockGroup& group) {
        TrackedBlock block{ordinal, group, facts_.of(ordinal)};
        block.facts.free_context = frees_.of(ordinal);
        return facets_->of(block);
    }

private:
    BlockStream stream_;
    PhaseReplay phases_;
    AllFacts facts_;
    FreeContexts frees_;
    PhaseTable table_;
    std::optional<FacetsOfBlocks> facets_;
};

// Numbers the groups of all blocks.
class GroupFollower : public BlockFollower {
public:
    GroupFollower(const BlockStream& stream, Lives* lives)
        : definitions_(stream.definitions()),
          lives_(lives),
          found_{{}, std::vector<uint32_t>(stream.reader().max_alloc_count() + 1)} {}

    void restore(const Checkpoint& checkpoint) {
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            add(ordinal, checkpoint.blocks[ordinal].shape);
        }
    }
    void on_alloc(const BlockAlloc& block) { add(block.ordinal, block.shape); }

    NumberedGroups take() { return std::move(found_); }

private:
    void add(uint64_t ordinal, const AllocationShape& shape) {
        BlockGroup group;
        group.context = shape.context;
        group.stream = shape.stream;
        group.device = shape.device;
        group.count = 1;
        group.tensor = definitions_.tensor_of(ordinal);
        group.facets = lives_ != nullptr ? lives_->facets_of(ordinal, group) : 0;
        const auto next = static_cast<uint32_t>(found_.groups.size());
        const auto [at, is_new] = numbers_.try_emplace(key_of_group(group), next);
        if (is_new) {
            found_.groups.push_back(group);
        }
        found_.group_of_block[ordinal] = at->second;
    }

    const Definitions& definitions_;
    Lives* lives_;
    std::map<GroupKey, uint32_t> numbers_;
    NumberedGroups found_;
};

}  // namespace

NumberedGroups number_groups(const TraceReader& reader, BlockKeys& keys, const Progress& progress) {
    std::optional<Lives> lives;
    if (keys.follow_blocks()) {
        lives.emplace(reader, keys, progress);
    }
    BlockStream stream(reader);
    GroupFollower follower(stream, lives.has_value() ? &*lives : nullptr);
    stream.run(progress, follower);
    return follower.take();
}

std::vector<bool> select_blocks(const TraceReader& reader,
                                BlockKeys& keys,
                                BlockFilter& filter,
                                const Progress& progress) {
    const NumberedGroups found = number_groups(reader, keys, progress);
    for (const BlockGroup& group : found.groups) {
        filter.see(group);
    }
    std::vector<bool> is_group_shown;
    for (const BlockGroup& group : found.groups) {
        is_group_shown.push_back(filter.takes(group));
    }
    std::vector<bool> shown;
    for (const uint32_t group : found.group_of_block) {
        shown.push_back(group < is_group_shown.size() && is_group_shown[group]);
    }
    return shown;
}

}  // namespace peakline::report
