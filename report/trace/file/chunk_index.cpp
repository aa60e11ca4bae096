// Walks the chunk headers. See the invariants in trace_format.h.
#include "chunk_index.h"

#include <algorithm>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "superblock.h"

namespace peakline::report {
namespace {

using format::ChunkHeader;
using format::kChunkBytes;
using format::kPayloadBytes;
using format::kSuperblockBytes;

// A preallocated tail is at most a few hundred chunks. Only a hostile file has a longer one: stop
// there.
constexpr uint64_t kBlankChunksLookedAt = 65536;

enum class BlankChunks { kDamage, kNormal };

std::string chunk_text(const ByteSource& source, uint64_t number) {
    return source.name() + ": chunk " + std::to_string(number);
}

bool known_type(uint16_t type) {
    return type >= static_cast<uint16_t>(format::ChunkType::kDefs) &&
           type <= static_cast<uint16_t>(format::ChunkType::kSummary);
}

// The preallocated, never used tail of a file.
bool all_zero(std::span<const unsigned char> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0; });
}

// Returns the fault, or "" when the header can be trusted.
std::string header_fault(const ChunkHeader& header, uint64_t number) {
    if (header.magic == 0) {
        return " has a blank header though later chunks follow: skipped";
    }
    if (header.magic != format::kChunkMagic) {
        return " does not begin with a chunk's magic number: skipped";
    }
    if (header.index != number) {
        return " has the number " + std::to_string(header.index) + " in its header: skipped";
    }
    if (header.committed > kPayloadBytes) {
        return " has " + std::to_string(header.committed) +
               " committed bytes by its header, a chunk holds " + std::to_string(kPayloadBytes) +
               ": skipped";
    }
    if (!known_type(header.type)) {
        return " has the unknown type " + std::to_string(header.type) +
               ": skipped; was it written by a newer peakline?";
    }
    return {};
}

ChunkEntry entry_of(const ByteSource& source,
                    const ChunkHeader& header,
                    uint64_t number,
                    BlankChunks blank_chunks,
                    Problems& problems) {
    const uint64_t payload_start = kSuperblockBytes + number * kChunkBytes + sizeof(ChunkHeader);
    const uint64_t available = source.size_bytes() - payload_start;
    ChunkEntry chunk = {header, number, 0, true};
    if (header.magic == 0 && blank_chunks == BlankChunks::kNormal) {
        chunk.readable = false;
        // A recycled chunk never held definitions: those are never released.
        chunk.header.type = static_cast<uint16_t>(format::ChunkType::kSummary);
        return chunk;
    }
    const std::string fault = header_fault(header, number);
    if (!fault.empty()) {
        problems.add(chunk_text(source, number) + fault);
        chunk.readable = false;
        return chunk;
    }
    chunk.payload_bytes = static_cast<uint32_t>(std::min<uint64_t>(header.committed, available));
    if (chunk.cut()) {
        problems.add(chunk_text(source, number) + " ends after " + std::to_string(available) +
                     " of " + std::to_string(header.committed) +
                     " bytes; was the program killed, or the copy cut short?");
    }
    return chunk;
}

}  // namespace

std::vector<ChunkEntry> index_chunks(const ByteSource& source,
                                     const format::Superblock& superblock,
                                     Problems& problems) {
    std::vector<ChunkHeader> headers;
    std::vector<unsigned char> scratch;
    size_t used_count = 0;
    for (uint64_t offset = kSuperblockBytes; offset < source.size_bytes(); offset += kChunkBytes) {
        const auto bytes = source.read(offset, sizeof(ChunkHeader), scratch);
        if (bytes.size() < sizeof(ChunkHeader)) {
            if (all_zero(bytes)) {
                break;
            }
            problems.add(chunk_text(source, headers.size()) + " ends after " +
                         std::to_string(bytes.size()) + " bytes of its header (" +
                         std::to_string(sizeof(ChunkHeader)) +
                         "); was the program killed, or the copy cut short?");
            break;
        }
        ChunkHeader header = {};
        std::memcpy(&header, bytes.data(), sizeof(header));
        headers.push_back(header);
        if (header.magic != 0) {
            used_count = headers.size();
        } else if (headers.size() - used_count >= kBlankChunksLookedAt) {
            break;
        }
    }
    const BlankChunks blank_chunks =
        is_bounded(superblock) ? BlankChunks::kNormal : BlankChunks::kDamage;
    std::vector<ChunkEntry> chunks;
    chunks.reserve(used_count);
    for (uint64_t number = 0; number < used_count; ++number) {
        chunks.push_back(entry_of(source, headers[number], number, blank_chunks, problems));
    }
    return chunks;
}

ChunkState read_payload(const ByteSource& source,
                        const ChunkEntry& chunk,
                        uint64_t chunk_number,
                        std::vector<unsigned char>& scratch,
                        std::span<const unsigned char>* payload) {
    const uint64_t start = kSuperblockBytes + chunk_number * kChunkBytes + sizeof(ChunkHeader);
    *payload = source.read(start, chunk.payload_bytes, scratch);
    // A cut chunk cannot match its checksum; its records are checked one by one.
    if (!chunk.sealed() || payload->size() < chunk.header.committed) {
        return ChunkState::kWhole;
    }
    const uint64_t seed = chunk.is(format::ChunkType::kDefs)
                              ? XXH3_64bits(chunk.header.first_ids, sizeof(chunk.header.first_ids))
                              : 0;
    const uint64_t found = XXH3_64bits_withSeed(payload->data(), payload->size(), seed);
    return found == chunk.header.payload_xxh3 ? ChunkState::kWhole : ChunkState::kChecksumDiffers;
}

}  // namespace peakline::report
