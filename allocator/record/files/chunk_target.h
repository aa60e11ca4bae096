// The destination of a trace's chunks: a file (file_target.h) or memory (memory_target.h). A trace
// writer opens chunks one after another and closes each when it is full. Not thread safe.
#pragma once

#include <cstdint>

#include "allocator/record/format/trace_format.h"

namespace peakline::record {

constexpr uint64_t chunk_offset(uint64_t index) {
    return format::kSuperblockBytes + index * format::kChunkBytes;
}

class ChunkTarget {
public:
    // Returns room for chunk `index` (kChunkBytes, page aligned; zeroed, in memory unless used
    // before), or nullptr with error() set.
    virtual unsigned char* open_chunk_slow(uint64_t index) = 0;
    virtual void close_chunk(uint64_t index, unsigned char* chunk) = 0;
    // Makes a closed chunk unused: its header becomes zero.
    virtual void clear_chunk_slow(uint64_t index) = 0;
    // Cuts preallocated and unused bytes, including those after the first `last_chunk_bytes` of the
    // last chunk, which is closed; later chunks may still be opened.
    virtual void trim(uint64_t chunk_count, uint64_t last_chunk_bytes) = 0;
    // errno of the last failure, 0 when there was none.
    virtual int error() const = 0;

protected:
    ~ChunkTarget() = default;
};

}  // namespace peakline::record
