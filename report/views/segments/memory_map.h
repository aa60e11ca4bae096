// The addresses of blocks in torch's segments at one moment, and the holes between them. Every sum
// includes all blocks, also the smallest ones that are left out of the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "segment_ranges.h"

namespace peakline::report {

struct MapBlock {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint32_t context = 0;     // of the page, or of the trace
    bool is_waiting = false;  // freed, but another stream may still use it
};

struct MapSegment {
    SegmentRange range;
    uint64_t block_bytes = 0;  // covered by blocks
    uint64_t block_count = 0;
    uint64_t hole_count = 0;
    uint64_t largest_hole_bytes = 0;
    uint64_t unlisted_bytes = 0;  // bytes of the smallest blocks, which are not in the list
    uint64_t unlisted_count = 0;
    size_t block_end = 0;  // end of its listed blocks, which begin at the previous segment's end

    uint64_t free_bytes() const { return range.bytes - block_bytes; }
};

struct MemoryMap {
    static constexpr size_t kMaxBlocks = 200'000;

    uint64_t tick = 0;
    std::vector<MapSegment> segments;  // by stream, then by address
    std::vector<MapBlock> blocks;      // by segment, then by address
    // Blocks outside of known segments: those were obtained before recording began.
    uint64_t outside_bytes = 0;
    uint64_t outside_count = 0;
};

// `segments` are sorted by address. Lists the largest `max_blocks`.
MemoryMap make_memory_map(const std::vector<SegmentRange>& segments,
                          std::vector<MapBlock> blocks,
                          size_t max_blocks = MemoryMap::kMaxBlocks);

}  // namespace peakline::report
