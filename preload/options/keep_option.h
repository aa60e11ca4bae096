// PEAKLINE_KEEP: how much of a recording stays in its file: all, peak, or last:SIZE.
#pragma once

#include "allocator/record/writer/trace_writer.h"

namespace peakline::preload {

// A smaller file would hold little more than its own checkpoints.
inline constexpr uint64_t kLeastKeptBytes = uint64_t{16} << 20;  // kNoKeep names it

// Error text, printed after a value that does not parse.
inline constexpr char kNoKeep[] =
    "is not known: all, peak, or last:SIZE with at least 16 MiB (last:2GiB, last:500MB)";

// Parses "all", "peak" and "last:2GiB" (also MiB, TiB; KB, MB, GB, TB of 1000; plain bytes), the
// same in every locale. Returns false, with `keep` unchanged, if the text does not parse or is less
// than kLeastKeptBytes.
bool parse_keep(const char* text, record::Keep* keep);

}  // namespace peakline::preload
