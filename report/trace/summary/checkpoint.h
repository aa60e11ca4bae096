// The oldest whole checkpoint of a trace that keeps less than every event: where its stream of
// events begins, what was live there and what the peaks were. See Note [Checkpoints] in
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

// What the rare records before a checkpoint have come to, see Note [Standing records] in
// trace_format.h.
struct StandingState {
    struct Unseen {
        uint64_t device = 0;
        uint64_t address = 0;
        uint64_t bytes = 0;
    };
    std::vector<RareEvent> records;              // to be read before the first event
    std::map<uint64_t, record::DeviceUse> uses;  // by device, without what was asked for
    std::vector<Unseen> unseen;
};

// A request that a device refused before the events.
struct EarlierRefusal {
    uint64_t tick = 0;
    format::OutOfMemory request = {};
    format::Refusal refusal = {};
    uint64_t pool = 0;
    uint64_t live_bytes = 0;  // of the device, as the next two
    uint64_t reserved_bytes = 0;
    uint64_t waiting_bytes = 0;
    std::vector<SummaryGroup> live;  // empty: there were too many
};

struct EarlierRefusals {
    uint64_t count = 0;                // of all
    std::vector<EarlierRefusal> last;  // oldest first
};

struct PhaseSummary {
    uint32_t name = 0;  // string id
    uint64_t depth = 0;
    std::vector<SummaryView> views;  // none when only events show phases
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
    std::vector<uint64_t> backs;        // of the blocks: falling
    uint64_t records_dropped = 0;
    uint64_t bytes_dropped = 0;
    uint64_t dropped_phase_count = 0;
    // nullopt: the trace does not say.
    std::optional<StandingState> standing;
    std::optional<StepHistory> steps;
    std::optional<EarlierRefusals> refusals;

    // In which step before the events a block of `blocks` was made; nullopt: in none, or unknown.
    std::optional<uint64_t> step_of(const BaselineBlock& block) const {
        return steps ? steps->step_of(next_ordinal - block.back) : std::nullopt;
    }
    // That ended before the events.
    uint64_t earlier_step_count() const {
        return steps && steps->has_steps() ? steps->step_count : 0;
    }
    const SummaryView* view(uint32_t device, format::Measure measure) const;
};

// nullopt with a problem when the trace has no whole checkpoint.
std::optional<Checkpoint> read_checkpoint(const ByteSource& source,
                                          const std::vector<ChunkPlace>& places,
                                          const Definitions& definitions,
                                          Problems& problems);

// Leaves the chunks that count, EVENTS in the order of the stream from the checkpoint on. Its
// blocks are the first allocations of the stream; ordinals in the headers count on from there.
void order_from(const Checkpoint& checkpoint, std::vector<ChunkPlace>& places);

const SummaryView* find_view(const std::vector<SummaryView>& views,
                             uint32_t device,
                             format::Measure measure);

}  // namespace peakline::report
