// The blocks of a whole trace by the answers of keys, and which of them --where shows. For views
// that follow blocks over time.
#pragma once

#include <cstdint>
#include <vector>

#include "block_filter.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Blocks of one place have the same answers to all keys.
struct BlockPlaces {
    std::vector<BlockGroup> places;        // one block of each
    std::vector<uint32_t> place_of_block;  // by ordinal
};

// One pass over the events, and one before it for keys that look at lives: how a block ends shows
// when it has ended.
BlockPlaces number_places(const TraceReader& reader,
                          BlockKeys& keys,
                          const Progress& progress = {});

// By ordinal. The keys of `filter` are `keys`; it has seen all blocks then. Passes as
// of number_places().
std::vector<bool> select_blocks(const TraceReader& reader,
                                BlockKeys& keys,
                                BlockFilter& filter,
                                const Progress& progress = {});

}  // namespace peakline::report
