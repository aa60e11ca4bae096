// Growth of torch's segments that no growth of its blocks explains: reserved memory rises, used
// memory does not. Found by the rule of Note [Growth] on the reserved level.
//
// Note [Reserved growth]
// The reserved level must grow by more segments, and by twice the growth of the highest allocated
// level of a step. It has three causes. Torch makes a segment when no free block of the same pool
// and stream is large enough, so the new segments show the cause:
// * more than half of their bytes are in private pools (of graphs, or the program's own);
// * or on streams that had no segment before, three or more;
// * or neither: the free blocks were smaller than the requests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "growth_fit.h"
#include "growth_moments.h"
#include "report/attribute/block_keys.h"
#include "report/views/ledger/driver_levels.h"

namespace peakline::report {

enum class ReservedCause { kPools, kStreams, kFragments };

// New segments requested by one line.
struct ReservedRow {
    Label line;
    uint64_t bytes = 0;
    uint64_t segment_count = 0;
    std::set<uint32_t> streams = {};
    std::set<uint64_t> pools = {};  // private ones
};

struct ReservedGrowth {
    GrowthMoments moments;
    std::vector<uint64_t> ticks;  // of the samples
    GrowthFit fit;
    int64_t begin_bytes = 0;      // before the growth
    int64_t end_bytes = 0;        // at the last sample
    int64_t allocated_bytes = 0;  // the maximum up to the last sample
    ReservedCause cause{};
    bool is_certain = false;             // a tenth of the level at the end or more
    std::vector<ReservedRow> rows = {};  // most bytes first
};

class ReservedSampler : public BlockFollower {
public:
    // `moments`: samples of a checkpoint are left out, because it has no segments for them.
    ReservedSampler(const Definitions& definitions, GrowthMoments moments, uint32_t device);

    void restore(const Checkpoint& checkpoint);
    void before_event(EventTime at) {
        while (!is_over_ && at.event >= next_bound()) {
            end_sample(at.tick);
        }
    }
    void on_alloc(const BlockAlloc& block) {
        if (!is_over_ && block.shape.device == device_) {
            allocated_ += static_cast<int64_t>(block.shape.block_bytes);
            highest_ = std::max(highest_, allocated_);
        }
    }
    void on_free(const BlockFree& block) {
        if (!is_over_ && block.shape.device == device_ &&
            block.leaves(format::Measure::kAllocated)) {
            allocated_ -= static_cast<int64_t>(block.shape.block_bytes);
        }
    }
    void on_rare(const RareEvent& event, EventTime) {
        if (!is_over_) {
            level_.apply(event);
        }
    }
    void on_main_end(EventTime) { is_over_ = true; }

    // Call it after the pass. nullopt: it does not grow.
    std::optional<ReservedGrowth> finish(EventTime end, StackLookup& stacks);

private:
    uint64_t next_bound() const {
        const size_t next = reserved_.bytes.size();
        return next < moments_.bounds.size() ? moments_.bounds[next] : UINT64_MAX;
    }
    void end_sample(uint64_t tick);
    void find_cause(uint64_t last_old_serial, StackLookup& stacks, ReservedGrowth* growth) const;

    uint32_t device_;
    GrowthMoments moments_;
    DriverLevel level_;
    bool is_over_ = false;
    int64_t allocated_ = 0;
    int64_t highest_ = 0;  // the maximum since the last sample
    LevelSeries reserved_;
    std::vector<int64_t> highest_of_sample_;
    std::vector<uint64_t> last_serials_;  // of segments, by sample
    std::vector<uint64_t> ticks_;
};

}  // namespace peakline::report
