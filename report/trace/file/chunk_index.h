// Where the chunks of a trace are and which of them can be read. Only headers are read.
#pragma once

#include <span>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "byte_source.h"
#include "problems.h"

namespace peakline::report {

struct ChunkPlace {
    // The header as it was when the trace was opened; a recording may go on meanwhile.
    format::ChunkHeader header;
    uint64_t number;  // its place in the file
    // Bytes of payload to read: `committed`, or fewer when the file ends before.
    uint32_t payload_bytes;
    // False: nothing in the chunk can be trusted, the chunk is passed over.
    bool readable;

    bool sealed() const { return (header.flags & format::kChunkSealed) != 0; }
    bool cut() const { return payload_bytes < header.committed; }
    bool is(format::ChunkType type) const {
        return readable && header.type == static_cast<uint16_t>(type);
    }
};

// One entry for every chunk up to the last used one, in file order. In a file whose chunks are
// recycled a blank one among the others is nothing to report.
std::vector<ChunkPlace> index_chunks(const ByteSource& source,
                                     const format::Superblock& superblock,
                                     Problems& problems);

enum class ChunkState { kWhole, kChecksumDiffers };

// Reads the payload of chunk `place` and, when the chunk is sealed and not cut, compares its
// checksum. The bytes are valid until `scratch` changes.
ChunkState read_payload(const ByteSource& source,
                        const ChunkPlace& place,
                        uint64_t chunk_number,
                        std::vector<unsigned char>& scratch,
                        std::span<const unsigned char>* payload);

}  // namespace peakline::report
