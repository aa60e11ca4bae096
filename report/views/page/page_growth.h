// Growth on a page: the level at the end of every step, and the live set there as
// differences. The moments are those of `leaks`. A run with many steps keeps the live set of every
// second one, every fourth one and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "page_buckets.h"
#include "report/replay/blocks/block_stream.h"
#include "report/views/growth/growth_moments.h"

namespace peakline::report {

struct PageGrowth {
    GrowthUnit unit = GrowthUnit::kTime;
    std::vector<uint64_t> ticks;   // by sample; the first one is at the begin of the first step
    std::vector<uint64_t> levels;  // by sample
    std::vector<uint64_t> steps;   // by sample: the step that ends there
    // The live sets are of samples 0, stride, 2 * stride ..., and of the last one.
    uint64_t stride = 1;
    std::vector<size_t> change_ends;  // by live set
    std::vector<PageChange> changes;
};

// The moments of a page: one for every step, or parts of a run without steps.
GrowthMoments page_growth_moments(const PhaseTable& table, uint64_t event_count);

class GrowthFollower {
public:
    GrowthFollower(const GrowthMoments& moments, uint32_t first_step, size_t max_changes);

    void before_event(EventTime at, uint64_t level, bool is_shown) {
        while (at.event >= next_bound_) {
            take_sample(at.tick, level, is_shown);
        }
    }
    // The level changes; before the shown range, too.
    void count(const PageChange& change);
    // Frees by the interpreter after main say nothing about the run.
    void on_main_end() { next_bound_ = UINT64_MAX; }
    PageGrowth finish(EventTime end, uint64_t level, bool is_shown);

private:
    void take_sample(uint64_t tick, uint64_t level, bool is_shown);
    void keep_live_set();
    void join_pairs();

    GrowthMoments moments_;
    uint32_t first_step_;
    size_t max_changes_;
    size_t bound_ = 0;
    uint64_t next_bound_;
    std::vector<PageChange> since_;  // by context: since the last kept live set
    std::vector<uint32_t> touched_;
    std::vector<bool> is_touched_;
    PageGrowth growth_;
};

}  // namespace peakline::report
