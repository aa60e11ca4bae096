// Reads the first 4096 bytes of a trace: is it a trace, and may this reader read it?
#pragma once

#include "allocator/record/format/trace_format.h"
#include "byte_source.h"
#include "problems.h"

namespace peakline::report {

// Throws TraceError when the file is not a trace or needs a newer reader. A wrong checksum is only
// a problem, not an error: the chunks have their own checksums.
format::Superblock read_superblock(const ByteSource& source, Problems& problems);

// Chunks are recycled: the file keeps only some of the events.
inline bool is_bounded(const format::Superblock& superblock) {
    return (superblock.incompat_flags & format::kChunksRecycled) != 0;
}

}  // namespace peakline::report
