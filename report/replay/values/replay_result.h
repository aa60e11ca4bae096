// What is asked of a trace and what replay answers. Plain data, used by views and render.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "block_facts.h"
#include "phase_table.h"
#include "report/trace/file/problems.h"
#include "value_reads.h"

namespace peakline::report {

// The moment whose live blocks are wanted. The end is where the program's main ended, or the end of
// a trace that does not say (old ones, killed programs).
enum class MomentKind { kPeak, kEnd, kOutOfMemory, kTime, kPhase };

struct Moment {
    MomentKind kind = MomentKind::kPeak;
    double seconds = 0;  // kTime: since the start of the trace
    std::string phase;   // kPhase: the peak within the phases of this name
    // kPhase: where these are; in order, apart from one another. See find_phase().
    std::vector<EventRange> phase_ranges;
    // kOutOfMemory: when this request was refused, counted from 1; 0: the last one.
    uint64_t request_number = 0;
    // kOutOfMemory: where it is, for callers who know; else replay() looks for it.
    std::optional<uint64_t> event;
};

enum class DeviceChoiceKind { kHighestPeak, kNumber, kAll };

struct DeviceChoice {
    DeviceChoiceKind kind = DeviceChoiceKind::kHighestPeak;
    uint32_t number = 0;
};

// Live blocks as groups of equal ones, or each by itself with what happened to it. kLives: every
// block that lived within the phases of the moment, live at its peak or not.
enum class Detail { kGroups, kBlocks, kLives };

struct ReplayRequest {
    Moment moment;
    format::Measure measure = format::Measure::kAllocated;
    DeviceChoice device;
    bool with_other_measure = false;  // fills ReplayResult::other_measure
    Detail detail = Detail::kGroups;
    bool needs_tensors = false;  // BlockGroup::tensor; else it may be 0
    // Needed for phases and for single blocks; must outlive the replay.
    const PhaseRules* phase_rules = nullptr;
};

// What happened to equal blocks beyond where they were made, as a grouping asks for it (see
// attribute/facets.h). Empty: it does not ask, or has nothing to say.
struct Facet {
    uint32_t kind = 0;  // of the grouping's own: what `value` is
    uint32_t value = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 is the compiler's own.
    auto operator<=>(const Facet&) const = default;
};

// Equal live blocks of one context.
struct BlockGroup {
    uint32_t context = 0;
    uint32_t stream = 0;
    uint32_t device = 0;
    uint64_t requested_bytes = 0;
    uint64_t block_bytes = 0;
    uint64_t count = 0;
    uint32_t tensor = 0;  // of Definitions::tensor(); 0: not reported
    // What the keys of a report know of the lives of these blocks: see attribute/block_keys.h.
    uint32_t facets = 0;
    Facet facet = {};  // of the key that is asked
};

// A live block that is followed by itself.
struct TrackedBlock {
    uint64_t ordinal = 0;
    BlockGroup block;  // of one
    BlockFacts facts = {};
};

// One device, or the sum of all, in one measure.
struct DeviceTotals {
    uint32_t device = 0;
    uint64_t peak_bytes = 0;
    uint64_t peak_tick = 0;
    uint64_t level_bytes = 0;            // at the end
    uint64_t total_allocated_bytes = 0;  // in traced ranges
    uint64_t alloc_count = 0;
    uint64_t free_count = 0;
};

struct LiveBlocks {
    std::vector<BlockGroup> groups;         // Detail::kGroups
    std::vector<TrackedBlock> blocks = {};  // Detail::kBlocks and kLives, by ordinal
    // What a summary's level has beyond its groups, or less (negative).
    int64_t unknown_bytes = 0;
    const char* unknown_name = nullptr;  // what it is; nullptr: counted and not recorded
    // The level at this moment: groups, unknown_bytes and left_out_bytes sum to it.
    uint64_t level_bytes = 0;
    // Of blocks that the report is not asked for: see views/block_filter.h.
    uint64_t left_out_bytes = 0;
    uint64_t left_out_count = 0;
};

// Whether the answer is the whole truth, and if not, why.
struct TraceHealth {
    bool clean_end = false;
    uint64_t records_dropped = 0;
    uint64_t bytes_dropped = 0;
    uint64_t event_count = 0;
    uint64_t last_tick = 0;  // of the end
    Problems problems;

    bool complete() const { return problems.empty() && records_dropped == 0; }
};

// Requests that a device could not serve: how many, and the last one.
struct OutOfMemory {
    uint64_t count = 0;
    uint64_t tick = 0;
    uint32_t context = 0;
    uint32_t device = 0;
    uint64_t requested_bytes = 0;
    uint64_t free_bytes = 0;  // of the device, as the driver reported
};

struct ReplayResult {
    std::vector<DeviceTotals> devices;        // each device in the measure asked for
    std::vector<DeviceTotals> other_measure;  // the same in the other one
    DeviceTotals chosen;                      // the device (or sum) the blocks are about
    bool is_sum = false;
    LiveBlocks blocks;
    PhaseTable phases;                   // with Detail::kBlocks and kLives
    std::vector<ValueRead> value_reads;  // of a simulated run
    OutOfMemory out_of_memory;
    TraceHealth health;
};

}  // namespace peakline::report
