// The request to replay and its result. Plain data, used by views and render.
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

// The moment of the requested live set. The end is the end of the program's main, or the end of the
// trace if it does not record that (old traces, killed programs).
enum class MomentKind { kPeak, kEnd, kOutOfMemory, kTime, kPhase };

struct Moment {
    MomentKind kind = MomentKind::kPeak;
    double seconds = 0;  // kTime: since the start of the trace
    std::string phase;   // kPhase: the peak within the phases of this name
    // kPhase: their event ranges, sorted and disjoint. See find_phase().
    std::vector<EventRange> phase_ranges;
    // kOutOfMemory: the refusal of this request, counted from 1; 0: the last one.
    uint64_t request_number = 0;
    // kOutOfMemory: its event, if the caller knows it; else replay() finds it.
    std::optional<uint64_t> event;
};

enum class DeviceChoiceKind { kHighestPeak, kNumber, kAll };

struct DeviceChoice {
    DeviceChoiceKind kind = DeviceChoiceKind::kHighestPeak;
    uint32_t number = 0;
};

// Live blocks as groups of equal ones, or each separately with its life. kLives: every block that
// lived within the phases of the moment, live at its peak or not.
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

// An extra grouping key derived from the life of equal blocks (see attribute/facets.h). Empty: the
// grouping needs none, or the block has none.
struct Facet {
    uint32_t kind = 0;  // the grouping's own kind of `value`
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
    uint32_t tensor = 0;  // see Definitions::tensor(); 0: not reported
    // The facts that a report's keys need of these blocks' lives: see attribute/block_keys.h.
    uint32_t facets = 0;
    Facet facet = {};  // of the requested key
};

// A live block that is followed separately.
struct TrackedBlock {
    uint64_t ordinal = 0;
    BlockGroup block;  // count is 1
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
    // The part of a summary's level beyond its groups; negative if the groups exceed the level.
    int64_t unknown_bytes = 0;
    const char* unknown_name = nullptr;  // its name; nullptr: counted and not recorded
    // The level at this moment: groups, unknown_bytes and left_out_bytes sum to it.
    uint64_t level_bytes = 0;
    // Blocks that the report leaves out: see views/block_filter.h.
    uint64_t left_out_bytes = 0;
    uint64_t left_out_count = 0;
};

// Whether the result is complete, and if not, why.
struct TraceHealth {
    bool clean_end = false;
    uint64_t records_dropped = 0;
    uint64_t bytes_dropped = 0;
    uint64_t event_count = 0;
    uint64_t last_tick = 0;  // tick of the end
    Problems problems;

    bool complete() const { return problems.empty() && records_dropped == 0; }
};

// Requests that a device could not serve: their number, and the last one.
struct OutOfMemory {
    uint64_t count = 0;
    uint64_t tick = 0;
    uint32_t context = 0;
    uint32_t device = 0;
    uint64_t requested_bytes = 0;
    uint64_t free_bytes = 0;  // of the device, from the driver
};

struct ReplayResult {
    std::vector<DeviceTotals> devices;        // each device in the requested measure
    std::vector<DeviceTotals> other_measure;  // the same in the other one
    DeviceTotals chosen;                      // the device (or sum) of the blocks
    bool is_sum = false;
    LiveBlocks blocks;
    PhaseTable phases;                   // with Detail::kBlocks and kLives
    std::vector<ValueRead> value_reads;  // of a simulated run
    OutOfMemory out_of_memory;
    TraceHealth health;
};

}  // namespace peakline::report
