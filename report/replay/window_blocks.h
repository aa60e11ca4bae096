// Every block that was live in a part of the run, with its life.
#pragma once

#include <cstdint>
#include <vector>

#include "operator_calls.h"
#include "report/replay/blocks/ordinal_table.h"
#include "report/replay/phases/find_ranges.h"
#include "report/replay/phases/phase_replay.h"
#include "report/replay/values/replay_result.h"

namespace peakline::report {

// Must come after `phases` in the pass. Keeps some 120 bytes for each block that is live or was
// live in the part.
class WindowBlocks : public BlockFollower {
public:
    // All must outlive this.
    WindowBlocks(const BlockStream& stream, const ReplayRequest& request, const PhaseReplay& phases)
        : stream_(stream),
          request_(request),
          phases_(phases),
          window_(request.moment.phase_ranges),
          calls_(*request.phase_rules),
          slots_(stream.reader().max_alloc_count()) {}

    void restore(const Checkpoint& checkpoint);
    void on_alloc(const BlockAlloc& block);
    void on_free(const BlockFree& block);
    // Blocks freed after main ended count as held to the end.
    void on_main_end(EventTime) { is_main_over_ = true; }

    // Returns the blocks of the device, or of all GPUs with `is_sum`, by ordinal. Call it once,
    // after the pass.
    LiveBlocks take(uint32_t device, bool is_sum);

private:
    void add(uint64_t ordinal, const AllocationShape& shape, const BlockFacts& facts);

    const BlockStream& stream_;
    const ReplayRequest& request_;
    const PhaseReplay& phases_;
    EventWindow window_;
    OperatorCalls calls_;
    OrdinalTable slots_;  // in blocks_, from 1
    SlotPool<TrackedBlock> blocks_;
    std::vector<TrackedBlock> freed_;
    bool is_main_over_ = false;
};

}  // namespace peakline::report
