// Calls of operators and modules found in a trace. Plain data: call_replay fills it, views and
// render show it.
//
// Note [Ends of calls]
// A trace has allocations and frees, but no beginnings and ends of calls. A call begins with its
// first allocation and ends with its last. Blocks that it made, and that are freed before its
// thread allocates outside of it, count as freed within it. In a backward pass this holds for all
// blocks freed before then: the engine frees the data of a node before it runs another. So a call
// that allocates nothing is invisible, two calls of one module without another allocation between
// them are one, and a result that is dropped at once counts as freed within. A record for every
// node that forward makes would show more of them (not all: without gradients there are no nodes),
// but would double the events of a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory_levels.h"
#include "report/replay/values/phase.h"

namespace peakline::report {

inline constexpr uint32_t kNoLayer = UINT32_MAX;

struct OperatorCall {
    uint32_t operation = 0;
    uint32_t layer = kNoLayer;  // the innermost module that runs
    Phase phase = Phase::kNone;
    uint64_t begin_event = 0;
    uint64_t begin_tick = 0;
    uint64_t alloc_count = 0;
    uint64_t allocated_bytes = 0;
    MemoryLevels after;
};

struct LayerCall {
    uint32_t layer = 0;
    uint32_t depth = 0;     // number of module calls around it
    bool is_called = true;  // else the calls inside it count: see ChainLayer
    Phase phase = Phase::kNone;
    uint64_t begin_event = 0;
    uint64_t end_event = 0;  // the first one after its last allocation
    uint64_t begin_tick = 0;
    uint64_t end_tick = 0;
    MemoryLevels before;
    MemoryLevels after;
};

// A layer over the whole trace, including everything that runs in it.
struct LayerUse {
    uint64_t peak_allocated_bytes = 0;  // of the device, while the layer runs
    uint64_t peak_reserved_bytes = 0;
    uint64_t peak_held_bytes = 0;  // of its own blocks
    uint64_t held_bytes = 0;       // at the end
    uint64_t alloc_count = 0;
    uint64_t free_count = 0;  // of its own blocks
    uint64_t allocated_bytes = 0;
    uint64_t backward_bytes = 0;  // part of allocated_bytes, in the backward pass
    uint64_t call_count = 0;      // outside of the backward pass
    uint64_t ticks = 0;
    double fragmentation_sum = 0;  // (reserved - allocated) / reserved at each of its allocations
    uint64_t fragmentation_count = 0;
};

// The levels at a requested moment.
struct MomentLevels {
    uint64_t event = 0;
    uint64_t tick = 0;
    MemoryLevels levels;
};

}  // namespace peakline::report
