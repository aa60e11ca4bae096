// A small trace, and how to damage the headers of its chunks.
#pragma once

#include <cstring>
#include <functional>

#include "report_testing.h"

namespace peakline::test {

inline constexpr const char* kThreeChunks = R"(
    start
    alloc a 0x1000 100 stack=f.py:1:f class
    alloc b 0x2000 200 stack=f.py:2:f class
    alloc c 0x3000 300 stack=f.py:3:f
    chunk
    alloc d 0x4000 400 stack=f.py:4:f
    free a
    chunk
    free d
    alloc e 0x5000 50 stack=f.py:5:f
    free b stack=g.py:9:g thread=1
    stop
    end
)";

inline constexpr size_t kHeaderBytes = sizeof(format::ChunkHeader);

inline void set_header(Bytes& file,
                       uint64_t chunk,
                       const std::function<void(format::ChunkHeader&)>& set) {
    format::ChunkHeader header;
    unsigned char* at = file.data() + TraceBuilder::chunk_offset(chunk);
    std::memcpy(&header, at, sizeof(header));
    set(header);
    std::memcpy(at, &header, sizeof(header));
}

}  // namespace peakline::test
