// The first 4096 bytes of a trace: is this a trace, and may this reader read it?
#pragma once

#include "allocator/record/format/trace_format.h"
#include "byte_source.h"
#include "problems.h"

namespace peakline::report {

// Throws TraceError when the file is not a trace or needs a newer reader. A wrong checksum alone
// is a problem, not an end: the chunks have checksums of their own.
format::Superblock read_superblock(const ByteSource& source, Problems& problems);

// Chunks are used again: the file keeps less than every event.
inline bool is_bounded(const format::Superblock& superblock) {
    return (superblock.incompat_flags & format::kChunksRecycled) != 0;
}

}  // namespace peakline::report
