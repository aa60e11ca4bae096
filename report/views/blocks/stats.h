// The largest allocators over the whole trace, by bytes and by count. Pure aggregation.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "report/attribute/block_keys.h"
#include "report/replay/totals/allocation_totals.h"
#include "report/views/selection/block_filter.h"

namespace peakline::report {

struct AllocatorRow {
    std::vector<Label> labels;  // one per key
    uint64_t bytes = 0;
    uint64_t count = 0;
    std::vector<ViaPart> via;  // the bytes by the operator that allocated them; may be empty
};

struct ThreadRow {
    uint64_t kernel_id = 0;
    std::string name;
    uint64_t bytes = 0;
    uint64_t count = 0;
};

struct Stats {
    std::deque<AllocatorRow> rows;
    std::vector<const AllocatorRow*> by_bytes;  // all rows, largest first
    std::vector<const AllocatorRow*> by_count;  // most frequent first
    std::vector<ThreadRow> threads;             // largest first
    uint64_t allocated_bytes = 0;               // of the whole trace
    uint64_t alloc_count = 0;
    uint64_t shown_bytes = 0;  // of the rows that pass the filter
    uint64_t shown_count = 0;
};

// Keys that need the life of blocks have no value here.
Stats build_stats(const TraceReader& reader,
                  const AllocationTotals& totals,
                  format::Measure measure,
                  const BlockKeys& keys,
                  BlockFilter& filter);

}  // namespace peakline::report
