// Finds the chunks of a trace and which of them are readable. Reads headers only.
#pragma once

#include <span>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "byte_source.h"
#include "problems.h"

namespace peakline::report {

struct ChunkEntry {
    // The header when the trace was opened; a recording may continue meanwhile.
    format::ChunkHeader header;
    uint64_t number;  // chunk number in the file
    // Bytes of payload to read: `committed`, or fewer when the file ends earlier.
    uint32_t payload_bytes;
    // False: nothing in the chunk can be trusted, so it is skipped.
    bool readable;

    bool sealed() const { return (header.flags & format::kChunkSealed) != 0; }
    bool cut() const { return payload_bytes < header.committed; }
    bool is(format::ChunkType type) const {
        return readable && header.type == static_cast<uint16_t>(type);
    }
};

// Returns one entry per chunk up to the last used one, in file order. If the file's chunks are
// recycled, a blank chunk among the others is no problem.
std::vector<ChunkEntry> index_chunks(const ByteSource& source,
                                     const format::Superblock& superblock,
                                     Problems& problems);

enum class ChunkState { kWhole, kChecksumDiffers };

// Reads the payload of a chunk and, if the chunk is sealed and not cut, compares its checksum. The
// bytes are valid until `scratch` changes.
ChunkState read_payload(const ByteSource& source,
                        const ChunkEntry& chunk,
                        uint64_t chunk_number,
                        std::vector<unsigned char>& scratch,
                        std::span<const unsigned char>* payload);

}  // namespace peakline::report
