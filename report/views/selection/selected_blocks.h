// The blocks of a whole trace by the values of keys, and the ones that --where selects. For views
// that follow blocks over time.
#pragma once

#include <cstdint>
#include <vector>

#include "block_filter.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Blocks of one group have the same values for all keys.
struct NumberedGroups {
    std::vector<BlockGroup> groups;        // one block of each
    std::vector<uint32_t> group_of_block;  // by ordinal
};

// One pass over the events, and one before it for keys that need lives: the end of a block is known
// only when it has ended.
NumberedGroups number_groups(const TraceReader& reader,
                             BlockKeys& keys,
                             const Progress& progress = {});

// By ordinal. The keys of `filter` are `keys`; it has seen all blocks then. Makes the same passes
// as number_groups().
std::vector<bool> select_blocks(const TraceReader& reader,
                                BlockKeys& keys,
                                BlockFilter& filter,
                                const Progress& progress = {});

}  // namespace peakline::report
