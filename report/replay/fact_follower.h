// The lives of the blocks that are live at the requested moment: when they were made and freed, by
// which context, in which operator. The moment may be known only at the end of the pass, so the
// facts of all live blocks are kept, and those of blocks freed since the best moment so far.
#pragma once

#include <cstdint>
#include <vector>

#include "operator_calls.h"
#include "report/replay/blocks/ordinal_table.h"
#include "report/replay/levels/level_replay.h"
#include "report/replay/phases/phase_replay.h"
#include "report/replay/values/block_facts.h"

namespace peakline::report {

// Must come after `levels` and `phases` in the pass: it reads them.
class FactFollower : public BlockFollower {
public:
    // All must outlive this.
    FactFollower(const BlockStream& stream,
                 const PhaseRules& rules,
                 const LevelReplay& levels,
                 const PhaseReplay& phases)
        : stream_(stream),
          levels_(levels),
          phases_(phases),
          calls_(rules),
          slots_(stream.reader().max_alloc_count()) {}

    void restore(const Checkpoint& checkpoint);
    void on_alloc(const BlockAlloc& block);
    void on_free(const BlockFree& block);
    void on_saved(const BlockSaved& block);
    // Blocks freed after main ended count as held to the end.
    void on_main_end(EventTime) { is_main_over_ = true; }

    // Facts of a block that is live at the moment.
    BlockFacts of(uint64_t ordinal) const {
        const uint32_t slot = slots_.at(ordinal);
        return slot != 0 ? facts_[slot - 1] : BlockFacts();
    }

private:
    void add(uint64_t ordinal, const BlockFacts& facts) {
        slots_.put(ordinal, facts_.add(facts) + 1);
    }
    void forget(uint64_t ordinal) {
        facts_.remove(slots_.at(ordinal) - 1);
        slots_.remove(ordinal);
    }
    // nullptr: its facts were dropped.
    BlockFacts* find(uint64_t ordinal) {
        const uint32_t slot = slots_.at(ordinal);
        return slot != 0 ? &facts_[slot - 1] : nullptr;
    }
    void forget_freed(uint32_t slot);

    const BlockStream& stream_;
    const LevelReplay& levels_;
    const PhaseReplay& phases_;
    OperatorCalls calls_;
    OrdinalTable slots_;  // slots in facts_, from 1
    SlotPool<BlockFacts> facts_;
    std::vector<std::vector<uint64_t>> freed_;  // since the peak, by slot of the trackers
    bool is_main_over_ = false;
};

}  // namespace peakline::report
