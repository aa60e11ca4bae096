// Traces without their padding: small enough for a fuzzer, and for the repository.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "allocator/record/format/trace_format.h"

namespace peakline::test {

// Layout: the superblock, then for each chunk its header, two bytes of length, and that much of
// its payload (what comes after it is zero). Takes any bytes.
inline std::vector<unsigned char> unpack(std::span<const uint8_t> packed) {
    constexpr size_t kHeader = sizeof(format::ChunkHeader);
    constexpr size_t kMostChunks = 8;
    if (packed.size() < sizeof(format::Superblock)) {
        return {packed.begin(), packed.end()};
    }
    std::vector<unsigned char> file(format::kSuperblockBytes);
    std::memcpy(file.data(), packed.data(), sizeof(format::Superblock));
    size_t at = sizeof(format::Superblock);
    for (size_t chunks = 0; at + kHeader + 2 <= packed.size() && chunks < kMostChunks; ++chunks) {
        const size_t begin = file.size();
        file.resize(begin + format::kChunkBytes);
        std::memcpy(&file[begin], &packed[at], kHeader);
        at += kHeader;
        size_t length = packed[at] | static_cast<size_t>(packed[at + 1]) << 8;
        at += 2;
        length = length < packed.size() - at ? length : packed.size() - at;
        std::memcpy(&file[begin] + kHeader, packed.data() + at, length);
        at += length;
    }
    return file;
}

// The first chunks of a file, as far as their payload fits; longer ones lose their end.
inline std::vector<unsigned char> pack(std::span<const uint8_t> file) {
    constexpr size_t kMostPayload = 60'000;
    std::vector<unsigned char> packed(file.begin(), file.begin() + sizeof(format::Superblock));
    for (size_t at = format::kSuperblockBytes; at + sizeof(format::ChunkHeader) <= file.size();
         at += format::kChunkBytes) {
        format::ChunkHeader header;
        std::memcpy(&header, &file[at], sizeof header);
        if (header.magic == 0) {
            continue;
        }
        header.committed = header.committed < kMostPayload ? header.committed : kMostPayload;
        const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
        packed.insert(packed.end(), bytes, bytes + sizeof header);
        packed.push_back(static_cast<unsigned char>(header.committed));
        packed.push_back(static_cast<unsigned char>(header.committed >> 8));
        const auto payload = file.subspan(at + sizeof header, header.committed);
        packed.insert(packed.end(), payload.begin(), payload.end());
    }
    return packed;
}

}  // namespace peakline::test
