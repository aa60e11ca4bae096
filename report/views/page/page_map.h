// The map of a page: torch's segments and blocks as changes, one after the other. The state after
// any of them is known to the byte. A short trace has all changes; a long one only what differs
// between the moments that the page keeps. A pass of its own over the events, made once the highest
// moment is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "page_buckets.h"
#include "page_contexts.h"
#include "report/replay/all_facts.h"
#include "report/replay/values/phase_table.h"
#include "report/trace/reader.h"
#include "report/views/segments/allocator_state.h"

namespace peakline::report {

struct PageMapBlock {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t requested_bytes = 0;
    uint64_t rounded_bytes = 0;
    uint64_t made_tick = 0;
    uint64_t lived_ticks = 0;  // until the program freed it, plus one; 0: not while it ran
    uint32_t context = 0;
};

enum class MapChangeKind : uint8_t {
    kBlock = 1,   // the next block is made
    kBlockWaits,  // given up, in use by another stream
    kBlockGone,
    kPiece,  // the next piece of a segment comes
    kPieceGone,
    kPoolUsed,  // somebody owns this pool
    kPoolUnused,
};

struct PageMapChange {
    MapChangeKind kind{};
    uint32_t id = 0;  // of the block, the piece, or the pool
    uint64_t tick = 0;
};

// A moment that a reader of the page may want.
struct PageMapMoment {
    std::string kind;       // time, peak, reserved, refused, phase, end
    uint32_t number = 0;    // of the refused request or the phase, in the page
    uint64_t event = 0;     // the last one that belongs to it
    uint64_t tick = 0;      // of that one
    size_t change_end = 0;  // what had changed by then
};

struct PageMap {
    bool has_every_event = false;
    size_t first_change = 0;  // the state there is that at the begin of what is shown
    std::vector<PageMapBlock> blocks;
    std::vector<StateSegment> pieces;  // without their blocks
    std::vector<uint64_t> pools = {0};
    std::vector<PageMapChange> changes;
    std::vector<PageMapMoment> moments;  // in order; none: there were too many blocks
};

struct MapRequest {
    format::Measure measure = format::Measure::kAllocated;
    uint32_t device = 0;
    uint64_t from_tick = 0;
    uint64_t to_tick = 0;
    Height peak;                        // of what is shown
    std::vector<PageMapMoment> wanted;  // besides the peak and the end, by event
    uint64_t max_changes = 0;           // of a page
    uint64_t event_count = 0;           // of what is shown
};

// At most so many times that divide a long run evenly, by events.
void want_times(uint64_t first_event,
                uint64_t last_event,
                uint64_t count,
                std::vector<PageMapMoment>* wanted);
// The ends of the phases of two steps: that of the peak, and the last one.
void want_phases(const PhaseTable& table, uint64_t peak_tick, std::vector<PageMapMoment>* wanted);

// Of a trace that has all events and knows its segments.
PageMap build_map(const TraceReader& reader,
                  const MapRequest& request,
                  const AllFacts& facts,
                  PageContexts& contexts,
                  const Progress& progress);

}  // namespace peakline::report
