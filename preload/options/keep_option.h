// PEAKLINE_KEEP: what of a recording stays in its file: all, peak, or last:SIZE.
#pragma once

#include "allocator/record/writer/trace_writer.h"

namespace peakline::preload {

// Below this a file would keep little more than its own checkpoints.
inline constexpr uint64_t kLeastKeptBytes = uint64_t{16} << 20;  // kNoKeep names it

// What is said of a text that is not understood, after it.
inline constexpr char kNoKeep[] =
    "is not known: all, peak, or last:SIZE with at least 16 MiB (last:2GiB, last:500MB)";

// Understands "all", "peak" and "last:2GiB" (also MiB, TiB; KB, MB, GB, TB of 1000; plain
// bytes), the same in every locale.
// False: not understood, or less than kLeastKeptBytes; `keep` stays as it is.
bool parse_keep(const char* text, record::Keep* keep);

}  // namespace peakline::preload
