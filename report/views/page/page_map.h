// The map of a page: torch's segments and blocks as a sequence of changes. The state after each of
// them is known to the byte. A short trace has all changes; a long one only the differences between
// the kept moments. Made in a separate pass over the events, once the highest moment is known.
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
    uint64_t lived_ticks = 0;  // until the program freed it, plus one; 0: not freed while it ran
    uint32_t context = 0;
};

enum class MapChangeKind : uint8_t {
    kBlock = 1,   // the next block is made
    kBlockWaits,  // freed by the program, in use by another stream
    kBlockGone,
    kPiece,  // the next piece of a segment is added
    kPieceGone,
    kPoolUsed,  // the pool gets an owner
    kPoolUnused,
};

struct PageMapChange {
    MapChangeKind kind{};
    uint32_t id = 0;  // of the block, the piece, or the pool
    uint64_t tick = 0;
};

// A moment that the user of the page can choose.
struct PageMapMoment {
    std::string kind;       // time, peak, reserved, refused, phase, end
    uint32_t number = 0;    // number of the refused request or the phase, in the page
    uint64_t event = 0;     // the last event that belongs to it
    uint64_t tick = 0;      // of that event
    size_t change_end = 0;  // number of changes up to then
};

struct PageMap {
    bool has_every_event = false;
    size_t first_change = 0;  // the state there is the one at the beginning of the shown range
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
    Height peak;                        // of the shown range
    std::vector<PageMapMoment> wanted;  // besides the peak and the end, by event
    uint64_t max_changes = 0;           // of a page
    uint64_t event_count = 0;           // of the shown range
};

// At most this many times that divide a long run evenly, by events.
void want_times(uint64_t first_event,
                uint64_t last_event,
                uint64_t count,
                std::vector<PageMapMoment>* wanted);
// The ends of the phases of two steps: the peak's step, and the last one.
void want_phases(const PhaseTable& table, uint64_t peak_tick, std::vector<PageMapMoment>* wanted);

// For a trace that has all events and its segments.
PageMap build_map(const TraceReader& reader,
                  const MapRequest& request,
                  const AllFacts& facts,
                  PageContexts& contexts,
                  const Progress& progress);

}  // namespace peakline::report
