// PEAKLINE_KEEP: what of a recording stays in its file: all, peak, or last:SIZE.
#pragma once

#include "allocator/record/trace_writer.h"

namespace peakline::preload {

// Below this a file would keep little more than its own checkpoints.
inline constexpr uint64_t kLeastKeptBytes = uint64_t{16} << 20;

// Understands "all", "peak" and "last:2GiB" (also MiB, TiB; KB, MB, GB, TB of 1000; plain bytes).
// False: not understood, or less than kLeastKeptBytes; `keep` stays as it is.
bool parse_keep(const char* text, record::Keep* keep);

}  // namespace peakline::preload
