// The memory of torch's allocator on one device at a moment: segments, their blocks, and the cause
// of every byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "report/replay/allocator_model/allocator_settings.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct StateBlock {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t requested_bytes = 0;
    uint64_t made_tick = 0;
    uint64_t rounded_bytes = 0;  // from rounded_request()
    uint32_t context = 0;
    bool is_waiting = false;  // freed by the program, in use by another stream
    // Until the program freed it, even after the moment; or to the end of main.
    uint64_t lived_ticks = 0;
    bool is_freed = false;  // by then
};

// Neighbouring pieces of an expandable segment are joined.
struct StateSegment {
    uint64_t address = 0;
    uint64_t bytes = 0;
    // size of the units that are mapped alone; all bytes of a plain segment
    uint64_t unit_bytes = 0;
    uint64_t pool = 0;    // private pool
    uint64_t serial = 0;  // from SegmentPieces
    uint32_t stream = 0;
    bool is_expandable = false;
    std::vector<StateBlock> blocks = {};  // by address

    uint64_t end() const { return address + bytes; }
};

struct AllocatorState {
    uint32_t device = 0;
    uint64_t tick = 0;
    std::vector<StateSegment> segments;  // by address
    std::set<uint64_t> used_pools;       // private pools with an owner
    uint64_t outside_bytes = 0;          // of blocks outside of known segments
    std::string settings_fault;          // see AllocatorSettings
};

// The rounded size of a request under `settings`, in a block of `block_bytes`: a restored block of
// a graph's pool may be smaller.
uint64_t rounded_request(const AllocatorSettings& settings,
                         uint64_t requested_bytes,
                         uint64_t block_bytes);

// The state after this event, counted from 0.
AllocatorState find_allocator_state(const TraceReader& reader,
                                    uint32_t device,
                                    uint64_t event,
                                    const Progress& progress);

// The cause of free bytes: see Note [Causes].
enum class FreeCause : uint8_t { kWhole, kPinned, kUnit, kPartial, kPrivate };

struct FreePiece {
    uint64_t address = 0;
    uint64_t bytes = 0;
    FreeCause cause{};
};
// The free bytes of a segment, by address.
std::vector<FreePiece> free_pieces(const StateSegment& segment, bool is_pool_used);
const char* cause_name(FreeCause cause);

// Note [Causes]
// Every reserved byte has one cause:
//   live      in blocks of the program; parts of it are rounding to 512 bytes, to divisions of
//             powers of two, and remainders too small to split off
//   waiting   in blocks that the program freed, but other streams use
//   whole     in segments without a block: empty_cache() returns them
//   pinned    in segments with a block
//   unit      in units of expandable segments without a block: returned as well
//   partial   in units with a block
//   private   in pools of graphs and of the program: not usable by others
struct ReservedCauses {
    static constexpr size_t kFreeCauses = 5;

    uint64_t reserved_bytes = 0;
    uint64_t live_bytes = 0;
    uint64_t rounding_bytes = 0;  // these three are parts of live_bytes
    uint64_t division_bytes = 0;
    uint64_t unsplit_bytes = 0;
    uint64_t waiting_bytes = 0;
    std::array<uint64_t, kFreeCauses> free_bytes = {};  // by FreeCause
    uint64_t largest_hole_bytes = 0;

    uint64_t free(FreeCause cause) const { return free_bytes[static_cast<size_t>(cause)]; }
};
ReservedCauses find_causes(const AllocatorState& state);

// The memory that a line's blocks keep from returning to the device, beyond what empty_cache()
// returns now.
struct SegmentPin {
    uint32_t line = 0;  // number from line_of
    uint64_t own_bytes = 0;
    uint64_t block_count = 0;
    uint64_t sole_bytes = 0;       // returned when the line's blocks are gone
    uint64_t sole_free_bytes = 0;  // its part outside of blocks
    uint64_t shared_bytes = 0;     // in segments with blocks of other lines, too
    uint64_t oldest_tick = 0;      // when its first block was made
    // Lives of the blocks at the moment, until the program freed them or main ended.
    uint64_t median_ticks = 0;
    uint64_t longest_ticks = 0;
    uint64_t freed_count = 0;  // freed until then
};
// To return these bytes, all blocks of these lines must be freed.
struct PinningSet {
    std::vector<uint32_t> lines;
    uint64_t bytes = 0;
};
struct SegmentPins {
    std::vector<SegmentPin> lines;  // most sole bytes first
    std::vector<PinningSet> sets;   // most bytes first; of two lines and more

    static constexpr size_t kMostSets = 5;
};
// `line_of` returns the number of a context's line.
template <class LineOf>
SegmentPins find_pins(const AllocatorState& state, LineOf line_of);

// A part that is returned alone, and the lines of its blocks.
struct PinnedPart {
    uint64_t bytes = 0;
    uint64_t used_bytes = 0;
    std::set<uint32_t> lines = {};
};
struct PinInput {
    struct Block {
        uint32_t line;
        uint64_t bytes;
        uint64_t made_tick;
        uint64_t lived_ticks = 0;
        bool is_freed = false;
    };
    std::vector<Block> blocks;
    std::vector<PinnedPart> parts;
};
SegmentPins pins_of(const PinInput& input);
// Adds the parts of a segment that a block of the program keeps: a plain segment as a whole, an
// expandable one by units. A waiting block returns without the program.
template <class LineOf>
void add_parts(const StateSegment& segment, LineOf line_of, std::vector<PinnedPart>* parts) {
    const uint64_t unit = segment.unit_bytes != 0 ? segment.unit_bytes : segment.bytes;
    const size_t first = parts->size();
    for (uint64_t at = 0; at < segment.bytes; at += unit) {
        parts->push_back({std::min(unit, segment.bytes - at)});
    }
    for (const StateBlock& block : segment.blocks) {
        if (block.is_waiting) {
            continue;
        }
        const uint64_t begin = block.address - segment.address;
        const uint64_t end = begin + block.bytes;
        for (uint64_t i = begin / unit; i * unit < end; ++i) {
            PinnedPart& part = (*parts)[first + i];
            part.used_bytes += std::min(end, (i + 1) * unit) - std::max(begin, i * unit);
            part.lines.insert(line_of(block.context));
        }
    }
}

template <class LineOf>
SegmentPins find_pins(const AllocatorState& state, LineOf line_of) {
    PinInput input;
    for (const StateSegment& segment : state.segments) {
        for (const StateBlock& block : segment.blocks) {
            if (!block.is_waiting) {
                input.blocks.push_back({line_of(block.context),
                                        block.bytes,
                                        block.made_tick,
                                        block.lived_ticks,
                                        block.is_freed});
            }
        }
        // Pools in use keep their segments in any case.
        if (segment.pool == 0 || state.used_pools.count(segment.pool) == 0) {
            add_parts(segment, line_of, &input.parts);
        }
    }
    return pins_of(input);
}

}  // namespace peakline::report
