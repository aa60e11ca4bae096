// Walks the chunk headers. See "What always holds" in trace_format.h.
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

// A preallocated tail is at most a few hundred chunks; looking further costs time only in a file
// made to cost time.
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

// Empty when the header can be trusted.
std::string header_fault(const ChunkHeader& header, uint64_t number) {
    if (header.magic == 0) {
        return " has a blank header though later chunks follow: skipped";
    }
    if (header.magic != format::kChunkMagic) {
        return " does not begin with a chunk's magic number: skipped";
    }
    if (header.index != number) {
        return " says it is chunk " + std::to_string(header.index) + ": skipped";
    }
    if (header.committed > kPayloadBytes) {
        return " says " + std::to_string(header.committed) +
               " bytes are committed, a chunk holds " + std::to_string(kPayloadBytes) + ": skipped";
    }
    if (!known_type(header.type)) {
        return " has the unknown type " + std::to_string(header.type) +
               ": skipped; was it written by a newer peakline?";
    }
    return {};
}

ChunkPlace place_of(const ByteSource& source,
                    const ChunkHeader& header,
                    uint64_t number,
                    BlankChunks blank_chunks,
                    Problems& problems) {
    const uint64_t payload_start = kSuperblockBytes + number * kChunkBytes + sizeof(ChunkHeader);
    const uint64_t available = source.size_bytes() - payload_start;
    ChunkPlace place = {header, number, 0, true};
    if (header.magic == 0 && blank_chunks == BlankChunks::kNormal) {
        place.readable = false;
        // Definitions are never released: none was here.
        place.header.type = static_cast<uint16_t>(format::ChunkType::kSummary);
        return place;
    }
    const std::string fault = header_fault(header, number);
    if (!fault.empty()) {
        problems.add(chunk_text(source, number) + fault);
        place.readable = false;
        return place;
    }
    place.payload_bytes = static_cast<uint32_t>(std::min<uint64_t>(header.committed, available));
    if (place.cut()) {
        problems.add(chunk_text(source, number) + " ends after " + std::to_string(available) +
                     " of " + std::to_string(header.committed) +
                     " bytes; was the program killed, or the copy cut short?");
    }
    return place;
}

}  // namespace

std::vector<ChunkPlace> index_chunks(const ByteSource& source,
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
    std::vector<ChunkPlace> places;
    places.reserve(used_count);
    for (uint64_t number = 0; number < used_count; ++number) {
        places.push_back(place_of(source, headers[number], number, blank_chunks, problems));
    }
    return places;
}

ChunkState read_payload(const ByteSource& source,
                        const ChunkPlace& place,
                        uint64_t chunk_number,
                        std::vector<unsigned char>& scratch,
                        std::span<const unsigned char>* payload) {
    const uint64_t start = kSuperblockBytes + chunk_number * kChunkBytes + sizeof(ChunkHeader);
    *payload = source.read(start, place.payload_bytes, scratch);
    // A cut chunk keeps no checksum to compare with; its records are checked one by one.
    if (!place.sealed() || payload->size() < place.header.committed) {
        return ChunkState::kWhole;
    }
    const uint64_t seed = place.is(format::ChunkType::kDefs)
                              ? XXH3_64bits(place.header.first_ids, sizeof(place.header.first_ids))
                              : 0;
    const uint64_t found = XXH3_64bits_withSeed(payload->data(), payload->size(), seed);
    return found == place.header.payload_xxh3 ? ChunkState::kWhole : ChunkState::kChecksumDiffers;
}

}  // namespace peakline::report
