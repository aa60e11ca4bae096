// A packed trace: the bytes of a trace file, compressed piece by piece, with a table of the pieces
// at the end. It has the Zstandard seekable format (zstd, contrib/seekable_format,
// zstd_seekable_compression_format.md), so `zstd -d` unpacks it, too:
//
//   frame (superblock) | frame (chunk 0) | frame (chunk 1) | ... | skippable frame:
//     u32 0x184D2A5E | u32 bytes that follow
//     | u32 compressed, u32 raw bytes of each frame | u32 number of frames | u8 0 | u32 0x8F92EAB1
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace peakline::report {

// Reads bytes of the file; the result is valid until `scratch` changes.
using ReadBytes = std::function<std::span<const unsigned char>(
    uint64_t offset, size_t count, std::vector<unsigned char>& scratch)>;

bool looks_packed(std::span<const unsigned char> first_bytes);

class PackedFile {
public:
    // Throws TraceError when the table at the end is missing or wrong.
    PackedFile(const std::string& name, uint64_t file_bytes, const ReadBytes& stored);

    // Unpacked size of the trace.
    uint64_t size_bytes() const { return size_bytes_; }

    // Returns `count` raw bytes at `offset`, fewer at the end; `stored` reads the file. A piece
    // that does not decompress reads as zeros, and the chunk reader reports those as damage. Any
    // thread may call.
    std::span<const unsigned char> read(uint64_t offset,
                                        size_t count,
                                        std::vector<unsigned char>& scratch,
                                        const ReadBytes& stored) const;

private:
    struct Frame {
        uint64_t offset;      // in the file
        uint64_t raw_offset;  // in the trace
        uint32_t bytes;
        uint32_t raw_bytes;
    };

    void unpack(const Frame& frame, const ReadBytes& stored) const;

    std::vector<Frame> frames_;
    uint64_t size_bytes_ = 0;
    mutable std::mutex lock_;
    // Guarded by lock_: the last unpacked frame.
    mutable const Frame* unpacked_ = nullptr;
    mutable std::vector<unsigned char> raw_;
    mutable std::vector<unsigned char> packed_;
};

// Encodes the table for frames of these (compressed, raw) sizes.
std::vector<unsigned char> seek_table(
    const std::vector<std::pair<uint32_t, uint32_t>>& frame_sizes);

}  // namespace peakline::report
