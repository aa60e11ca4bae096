// The keys that group blocks into rows. A new key is one file, by_<key>.cpp, with its function, and
// one row of the table in grouping.cpp, where the function is also declared. --help, the module
// peakline._report, the HTML page and the checks of the tables in the docs read the keys from
// there.
#pragma once

#include <span>
#include <string>

#include "facets.h"
#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/values/replay_result.h"

namespace peakline::report {

// The row of a block. Depends on the group's context, stream, device, tensor and facet only.
struct BlockRow {
    Label label;
    bool through_forward = false;
    std::string via = {};  // see ViaPart; only for lines chosen as the callers of torch
    // For a line of a library: "/project/train.py:27", the line of the program that led there.
    std::string caller = {};
};

using RowOfBlock = BlockRow(StackLookup& stacks, const BlockGroup& block);

struct Grouping {
    const char* name = nullptr;  // value of --by
    const char* help = nullptr;  // a few words: the meaning of one row
    RowOfBlock* row_of = nullptr;
    const char* page_name =
        nullptr;  // its name on the HTML page; nullptr: the page has no such key
    // For keys that need the life of a block: then row_of() gets its facet.
    FacetOfBlock* facet = nullptr;
    bool needs_lives = false;    // needs single blocks: groups of a summary have no lives
    bool needs_events = false;   // the key has no meaning without events
    bool needs_streams = false;  // a summary has none
    bool needs_tensors = false;  // a summary has none
    bool reads_tensors = false;  // the row depends on a block's tensor, if it is known
};

// All of them, in the order of --help.
std::span<const Grouping> groupings();

// The groupings with a page name, in the order of --help.
std::span<const Grouping* const> page_groupings();
inline constexpr size_t kMostPageKeys = 8;

// The option that uses a key: --by or --where.
enum class KeyUse { kRows, kWhere };
const char* option_of(KeyUse use);

// Throws TraceError that lists the names when there is no grouping of this name.
const Grouping& find_grouping(const std::string& name, KeyUse use = KeyUse::kRows);

// The functions of keys that other keys build on, each in the file of its name.
RowOfBlock row_by_line, row_by_op, row_by_thread;
// The row of a block's free: the row of the context of the free. See by_freed.cpp.
BlockRow row_of_free(StackLookup& stacks, uint32_t context_id);

// Returns "default stream" or "stream 0x55d0" for a stream id.
std::string stream_text(const Definitions& definitions, uint32_t stream);

// A row with this text, for keys that are not frames.
BlockRow named_row(std::string name);
bool is_untraced(const StackLookup& stacks, const BlockGroup& block);
// Whether nothing was recorded about the allocation of the block.
bool is_unrecorded(const StackLookup& stacks, const BlockGroup& block);

// For keys made of frames. True when the block has no Python frame. Then `row` is the native
// frame of its stack, if no Python was recorded on purpose, or the row with the reason: untraced,
// or no python frame.
bool row_without_frame(StackLookup& stacks, const BlockGroup& block, BlockRow* row);

Location location_of(const Definitions& definitions, uint32_t frame_id);
// The text of a location with its full path: keys are made of it. For a native function: the
// function, then its library.
std::string location_key(const Location& location);

}  // namespace peakline::report
