// The keys that rows can be grouped by. A new key is one file, by_<key>.cpp, with its function, and
// one row of the table in grouping.cpp, where the function is also declared. --help, the module
// peakline._report and the checks of the tables in the docs take the keys from there.
#pragma once

#include <span>
#include <string>

#include "facets.h"
#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/values/replay_result.h"

namespace peakline::report {

// Where a block belongs. Depends on the group's context, stream, device, tensor and facet only.
struct Placement {
    Label label;
    bool through_forward = false;
    std::string via = {};  // see ViaPart; of lines that are chosen as the callers of torch
};

using PlaceBlock = Placement(StackLookup& stacks, const BlockGroup& block);

struct Grouping {
    const char* name = nullptr;  // of the option --by
    const char* help = nullptr;  // a few words: what one row stands for
    PlaceBlock* place = nullptr;
    // For keys that look at the life of a block: then place() sees its facet.
    FacetOfBlock* facet = nullptr;
    bool needs_lives = false;    // of single blocks: groups of a summary have none
    bool needs_events = false;   // without them the key has no meaning
    bool needs_streams = false;  // which a summary does not know
    bool needs_tensors = false;  // the same
    bool reads_tensors = false;  // where a block's tensor is known, the row depends on it
};

// All of them, in the order of --help.
std::span<const Grouping> groupings();

// The option that a key is for: --by or --where.
enum class KeyUse { kRows, kWhere };
const char* option_of(KeyUse use);

// Throws TraceError that lists the names when there is no grouping of this name.
const Grouping& find_grouping(const std::string& name, KeyUse use = KeyUse::kRows);

// Of the keys that others build on, in the files of these names.
PlaceBlock place_by_line, place_by_op, place_by_thread;
// Where a block was freed: the placement of the context of its free. See by_freed.cpp.
Placement place_free(StackLookup& stacks, uint32_t context_id);

// "default stream", "stream 0x55d0": a stream by its id.
std::string stream_text(const Definitions& definitions, uint32_t stream);

// The row of this text, for keys that are not frames.
Placement named_placement(std::string name);
bool is_untraced(const StackLookup& stacks, const BlockGroup& block);
// Nothing was recorded about where the block was made.
bool is_unrecorded(const StackLookup& stacks, const BlockGroup& block);

// For keys made of frames. True when the block has no Python frame to go by; then `placement` is
// the native frame that stands for its stack, where no Python was to be recorded, or the row that
// says why: untraced, or no python frame.
bool place_without_frame(StackLookup& stacks, const BlockGroup& block, Placement* placement);

Location location_of(const Definitions& definitions, uint32_t frame_id);
// The text of a location with its full path: keys are made of it. A native function stands before
// its library.
std::string location_key(const Location& location);

}  // namespace peakline::report
