// The table of all columns of an HTML page, and the coding of their numbers as bytes. A column has
// unsigned integers of one width, written as byte planes (all lowest bytes first), which compress
// well. report/page/data/columns.js reads them by the names in this table; a test compares both.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace peakline::report {

enum class ColumnCoding : uint8_t {
    kPlain,   // the number itself
    kSigned,  // zigzag: 0, -1, 1, -2 ... are 0, 1, 2, 3 ...
    kDelta,   // zigzag of the difference to the previous number; 0 before the first
};

struct PageColumn {
    const char* name;
    ColumnCoding coding;
    const char* help;  // the meaning of one number
};

// In the order in which they are written. Bytes of memory are in units of the page's byte_unit.
inline constexpr PageColumn kPageColumns[] = {
    {"point_begin", ColumnCoding::kDelta, "tick at which a point begins"},
    {"point_peak_offset", ColumnCoding::kPlain, "ticks from there to its highest moment"},
    {"point_peak_event", ColumnCoding::kDelta, "events up to then that changed the level"},
    {"point_peak", ColumnCoding::kDelta, "highest level"},
    {"point_low", ColumnCoding::kDelta, "lowest level"},
    {"point_reserved", ColumnCoding::kDelta, "most that torch reserved; none: not known"},
    {"point_traced", ColumnCoding::kPlain, "1: its highest moment lies in a traced range"},
    {"point_category", ColumnCoding::kDelta, "level of a category then, category by category"},
    {"node_parent", ColumnCoding::kDelta, "caller of a node of the tree of stacks"},
    {"node_frame", ColumnCoding::kPlain, "its frame"},
    {"context_node", ColumnCoding::kDelta, "innermost node of a context"},
    {"context_line", ColumnCoding::kPlain, "its line"},
    {"context_key", ColumnCoding::kPlain, "its name by a key of the page, key by key"},
    {"context_via", ColumnCoding::kPlain, "what asked for its blocks below its line"},
    {"context_allocated_bytes", ColumnCoding::kPlain, "what it allocated while tracing was on"},
    {"context_allocated_count", ColumnCoding::kPlain, "in how many blocks"},
    {"context_temporary_bytes", ColumnCoding::kPlain, "the temporary part of that"},
    {"context_temporary_count", ColumnCoding::kPlain, "in how many blocks"},
    {"context_left_bytes", ColumnCoding::kPlain, "what is left of it at the end"},
    {"context_left_count", ColumnCoding::kPlain, "in how many blocks"},
    {"moment_changes", ColumnCoding::kPlain, "contexts that differ from the moment before"},
    {"change_context", ColumnCoding::kDelta, "such a context"},
    {"change_bytes", ColumnCoding::kSigned, "what it holds more"},
    {"change_count", ColumnCoding::kSigned, "how many blocks more"},
    {"growth_tick", ColumnCoding::kDelta, "tick at the end of a step"},
    {"growth_level", ColumnCoding::kDelta, "level then"},
    {"growth_step", ColumnCoding::kDelta, "number of the step"},
    {"growth_changes", ColumnCoding::kPlain, "contexts that differ from the kept set before"},
    {"growth_context", ColumnCoding::kDelta, "such a context"},
    {"growth_bytes", ColumnCoding::kSigned, "what it holds more"},
    {"growth_count", ColumnCoding::kSigned, "how many blocks more"},
    {"tensor_bytes", ColumnCoding::kPlain, "size of a block"},
    {"tensor_context", ColumnCoding::kPlain, "its context"},
    {"tensor_name", ColumnCoding::kPlain, "its name, of the names of the page"},
    {"tensor_type", ColumnCoding::kPlain, "its shape and dtype, of the types of the page"},
    {"tensor_saved_by",
     ColumnCoding::kPlain,
     "the operator that saved it, of the savers of the page"},
    {"tensor_saved_tick", ColumnCoding::kPlain, "when; none: not recorded"},
    {"tensor_freed_by", ColumnCoding::kPlain, "what freed it, of the lines of the page that free"},
    {"tensor_made", ColumnCoding::kDelta, "the event that made it, as in point_peak_event"},
    {"tensor_lived", ColumnCoding::kPlain, "events until it was freed; 0: not freed"},
    {"tensor_made_tick", ColumnCoding::kDelta, "when; none: each event is a point"},
    {"tensor_lived_ticks", ColumnCoding::kPlain, "ticks until it was freed"},
    // Columns of the map: bytes are plain bytes, not units.
    {"piece_address", ColumnCoding::kDelta, "where a piece of a segment begins"},
    {"piece_bytes", ColumnCoding::kPlain, "its size"},
    {"piece_unit", ColumnCoding::kPlain, "what of it comes and goes by itself; 0: all"},
    {"piece_pool", ColumnCoding::kPlain, "its pool, of the pools of the page"},
    {"piece_stream", ColumnCoding::kPlain, "its stream, of the streams of the page"},
    {"piece_expandable", ColumnCoding::kPlain, "1: of an expandable segment"},
    {"block_address", ColumnCoding::kDelta, "where a block begins"},
    {"block_bytes", ColumnCoding::kPlain, "its size"},
    {"block_rounding", ColumnCoding::kSigned, "its size less what was asked for"},
    {"block_unsplit", ColumnCoding::kPlain, "its size less what torch rounds the request to"},
    {"block_context", ColumnCoding::kPlain, "its context"},
    {"block_made", ColumnCoding::kDelta, "tick at which it was made"},
    {"block_lived", ColumnCoding::kPlain, "ticks until it was freed, plus one; 0: not freed"},
    {"map_change", ColumnCoding::kPlain, "what came or went: MapChangeKind of page_map.h"},
    {"map_tick", ColumnCoding::kDelta, "when"},
    {"map_back", ColumnCoding::kPlain, "which: the newest block or piece less this; or the pool"},
};
const char* coding_name(ColumnCoding coding);

struct CodedColumn {
    uint32_t width = 1;  // bytes per number
    uint64_t count = 0;
    std::string planes;

    // The entropy of all planes: a compressor with Huffman codes needs hardly more.
    uint64_t compressed_bytes() const;
};

CodedColumn code_column(ColumnCoding coding, std::span<const int64_t> numbers);

}  // namespace peakline::report
