// What is asked of a trace and what replay answers. Plain data, used by views and render.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/record/trace_format.h"
#include "report/trace/problems.h"

namespace peakline::report {

// The moment whose live blocks are wanted.
enum class MomentKind { kPeak, kEnd, kTime, kPhase };

struct Moment {
    MomentKind kind = MomentKind::kPeak;
    double seconds = 0;  // kTime: since the start of the trace
    std::string phase;   // kPhase: the peak within the phases of this name
};

enum class DeviceChoiceKind { kHighestPeak, kNumber, kAll };

struct DeviceChoice {
    DeviceChoiceKind kind = DeviceChoiceKind::kHighestPeak;
    uint32_t number = 0;
};

struct ReplayRequest {
    Moment moment;
    format::Measure measure = format::Measure::kAllocated;
    DeviceChoice device;
    bool with_other_measure = false;  // fills ReplayResult::other_measure
};

// Equal live blocks of one context.
struct BlockGroup {
    uint32_t context = 0;
    uint32_t stream = 0;
    uint32_t device = 0;
    uint64_t requested_bytes = 0;
    uint64_t block_bytes = 0;
    uint64_t count = 0;
    uint32_t tensor = 0;  // of Definitions::tensor(); 0: not told
};

// One device, or the sum of all, in one measure.
struct DeviceTotals {
    uint32_t device = 0;
    uint64_t peak_bytes = 0;
    uint64_t peak_tick = 0;
    uint64_t level_bytes = 0;            // at the end of the trace
    uint64_t total_allocated_bytes = 0;  // in traced ranges
    uint64_t alloc_count = 0;
    uint64_t free_count = 0;
};

struct LiveBlocks {
    std::vector<BlockGroup> groups;
    // What a summary's level has beyond its groups, or less (negative).
    int64_t unknown_bytes = 0;
    // The level at this moment: groups and unknown_bytes sum to it.
    uint64_t level_bytes = 0;
};

// Whether the answer is the whole truth, and if not, why.
struct TraceHealth {
    bool clean_end = false;
    uint64_t records_dropped = 0;
    uint64_t bytes_dropped = 0;
    uint64_t event_count = 0;
    uint64_t last_tick = 0;
    Problems problems;

    bool complete() const { return problems.empty() && records_dropped == 0; }
};

struct ReplayResult {
    std::vector<DeviceTotals> devices;        // each device in the measure asked for
    std::vector<DeviceTotals> other_measure;  // the same in the other one
    DeviceTotals chosen;                      // the device (or sum) the blocks are about
    bool is_sum = false;
    LiveBlocks blocks;
    TraceHealth health;
};

}  // namespace peakline::report
