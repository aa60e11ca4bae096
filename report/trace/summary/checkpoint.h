// The oldest whole checkpoint of a trace that keeps only some of its events: the start of its
// stream of events, the live set there and the peaks before it. See Note [Checkpoints] in
// trace_format.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "allocator/record/levels/device_use.h"
#include "report/trace/definitions/definitions.h"
#include "report/trace/file/byte_source.h"
#include "report/trace/file/chunk_index.h"
#include "report/trace/file/problems.h"
#include "report/trace/file/rare_event.h"
#include "step_history.h"
#include "summary.h"

namespace peakline::report {

struct BaselineBlock {
    uint64_t back = 0;  // next ordinal at the checkpoint minus the block's
    AllocationShape shape;
    uint64_t address = 0;
    bool is_deferred = false;
};

// The result of the rare records before a checkpoint, see Note [Standing records] in
// trace_format.h.
struct StandingState {
    struct Unseen {
        uint64_t device = 0;
        uint64_t address = 0;
        uint64_t bytes = 0;
    };
    std::vector<RareEvent> records;              // read them before the first event
    std::map<uint64_t, record::DeviceUse> uses;  // by device, without the request that was refused
    std::vector<Unseen> unseen;
};

// A request that a device refused before the first event.
struct EarlierRefusal {
    uint64_t tick = 0;
    format::OutOfMemory request = {};
    format::Refusal refusal = {};
    uint64_t pool = 0;
    uint64_t live_bytes = 0;  // of the device, like the next two
    uint64_t reserved_bytes = 0;
    uint64_t waiting_bytes = 0;
    std::vector<SummaryGroup> live;  // empty: there were too many
};

struct EarlierRefusals {
    uint64_t count = 0;                // count of all refusals
    std::vector<EarlierRefusal> last;  // oldest first
};

struct PhaseSummary {
    uint32_t name = 0;  // string id
    uint64_t depth = 0;
    std::vector<SummaryView> views;  // empty when only events show phases
};

struct Checkpoint {
    uint64_t generation = 0;
    uint64_t first_event = 0;
    uint64_t next_ordinal = 0;
    uint64_t tick = 0;
    bool tracing = false;
    std::vector<SummaryView> views;
    std::vector<PhaseSummary> phases;
    std::vector<BaselineBlock> blocks;  // oldest first
    std::vector<uint64_t> backs;        // backs of the blocks: falling
    uint64_t records_dropped = 0;
    uint64_t bytes_dropped = 0;
    uint64_t dropped_phase_count = 0;
    // nullopt: the trace has none.
    std::optional<StandingState> standing;
    std::optional<StepHistory> steps;
    std::optional<EarlierRefusals> refusals;

    // The step before the events that made a block of `blocks`; nullopt: none, or unknown.
    std::optional<uint64_t> step_of(const BaselineBlock& block) const {
        return steps ? steps->step_of(next_ordinal - block.back) : std::nullopt;
    }
    // Number of steps that ended before the events.
    uint64_t earlier_step_count() const {
        return steps && steps->has_steps() ? steps->step_count : 0;
    }
    const SummaryView* view(uint32_t device, format::Measure measure) const;
};

// Returns nullopt and adds a problem when the trace has no whole checkpoint.
std::optional<Checkpoint> read_checkpoint(const ByteSource& source,
                                          const std::vector<ChunkEntry>& chunks,
                                          const Definitions& definitions,
                                          Problems& problems);

// Keeps only the chunks that count, with EVENTS in the order of the stream from the checkpoint on.
// The checkpoint's blocks are the first allocations of the stream; ordinals in the headers continue
// from there.
void order_from(const Checkpoint& checkpoint, std::vector<ChunkEntry>& chunks);

const SummaryView* find_view(const std::vector<SummaryView>& views,
                             uint32_t device,
                             format::Measure measure);

}  // namespace peakline::report
