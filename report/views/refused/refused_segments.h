// Explains why torch's segments could not serve a request that the device refused: the free memory
// in them, and the lines that kept it from being one piece or from returning to the device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/levels/refused_requests.h"
#include "report/trace/reader.h"
#include "report/views/segments/memory_map.h"

namespace peakline::report {

// Blocks of a line in segments with free bytes that a request could have used.
struct PinningRow {
    Label label;
    uint64_t bytes = 0;
    uint64_t count = 0;
    uint64_t free_bytes = 0;  // of their segments
};

struct FreePieces {
    uint64_t bytes = 0;
    uint64_t count = 0;
    uint64_t largest_bytes = 0;
    std::vector<PinningRow> pins;  // most free bytes first
};

// A request can use free pieces in segments of its stream and of its pool. A CUDA graph and a
// MemPool have pools of their own, and in each pool torch serves small requests (up to 1 MiB) and
// others from different segments. Before torch fails it returns the segments of all streams without
// blocks, so the other segments are pinned: their free bytes are unusable.
struct RefusedSegments {
    static constexpr uint64_t kSmallBytes = 1 << 20;         // kSmallSize of torch's allocator
    static constexpr uint64_t kSmallSegmentBytes = 2 << 20;  // kSmallBuffer
    static constexpr size_t kMaxPins = 5;

    uint64_t reserved_bytes = 0;
    uint64_t waiting_bytes = 0;  // freed, but another stream still uses them
    uint64_t free_bytes = 0;     // of all segments
    FreePieces usable;           // by this request
    FreePieces pinned;           // in all segments of its pool
    FreePieces of_other_pools;
    uint64_t largest_of_other_streams_bytes = 0;  // in the same pool
    // the request belongs to a pool of a graph or a MemPool
    bool is_in_own_pool = false;
    // Bytes that other processes use on the device; nullopt: no source had it. See Note [Other
    // processes] in allocator/record/levels/device_use.h.
    std::optional<uint64_t> other_process_bytes;
    // False for a request before the kept events: only reserved, waiting and free bytes are known.
    bool knows_pieces = true;
};

// nullopt: the trace lacks its segments.
std::optional<RefusedSegments> find_refused_segments(const TraceReader& reader,
                                                     const RefusedRequest& refused,
                                                     StackLookup& stacks,
                                                     const Progress& progress);

}  // namespace peakline::report
