// Checks every field of the superblock that decoding depends on.
#include "superblock.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace_error.h"

namespace peakline::report {
namespace {

using format::Superblock;

std::string hexadecimal(uint64_t value) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    do {
        text.insert(text.begin(), kDigits[value & 15]);
        value >>= 4;
    } while (value != 0);
    return "0x" + text;
}

// Handles files shorter than the magic, too.
void check_magic(const std::string& name, std::span<const unsigned char> bytes) {
    if (std::memcmp(bytes.data(), format::kMagic, std::min(bytes.size(), sizeof format::kMagic)) ==
        0) {
        return;
    }
    if (bytes.size() > 3 && std::memcmp(bytes.data() + 1, "PKL", 3) == 0) {
        throw TraceError(name +
                         ": its first bytes were changed, as a text-mode copy does;"
                         " copy the trace again in binary mode");
    }
    throw TraceError(name + ": is not a peakline trace (wrong first bytes); give a .peak file");
}

void check_beginning(const ByteSource& source, std::span<const unsigned char> bytes) {
    if (source.size_bytes() == 0) {
        throw TraceError(source.name() + ": the file is empty; record again: peakline run SCRIPT");
    }
    check_magic(source.name(), bytes);
    if (bytes.size() < sizeof(Superblock)) {
        throw TraceError(source.name() + ": ends after " + std::to_string(bytes.size()) +
                         " bytes, a trace begins with " + std::to_string(sizeof(Superblock)) +
                         "; was the copy cut short?");
    }
}

void check_readable(const std::string& name, const Superblock& block) {
    if (block.endian_mark != format::kEndianMark) {
        throw TraceError(name +
                         ": was written on a machine of another byte order,"
                         " which is not supported; read it there");
    }
    if (block.major != format::kMajor) {
        throw TraceError(name + ": has format version " + std::to_string(block.major) +
                         ", this peakline reads version " + std::to_string(format::kMajor) +
                         "; use the peakline that recorded it");
    }
    const uint64_t unknown_flags = block.incompat_flags & ~format::kKnownIncompatFlags;
    if (unknown_flags != 0) {
        throw TraceError(name + ": uses features this peakline does not know (incompat flags " +
                         hexadecimal(unknown_flags) + "); use a newer peakline");
    }
    if (block.chunk_bytes != format::kChunkBytes || block.tick_ns == 0 ||
        block.tick_ns > 1'000'000'000) {
        throw TraceError(name + ": the superblock is damaged (chunks of " +
                         std::to_string(block.chunk_bytes) + " bytes, ticks of " +
                         std::to_string(block.tick_ns) + " ns); copy the trace again");
    }
}

}  // namespace

Superblock read_superblock(const ByteSource& source, Problems& problems) {
    std::vector<unsigned char> scratch;
    const auto bytes = source.read(0, sizeof(Superblock), scratch);
    check_beginning(source, bytes);
    Superblock block = {};
    std::memcpy(&block, bytes.data(), sizeof(block));
    check_readable(source.name(), block);
    if (XXH3_64bits(bytes.data(), offsetof(Superblock, header_xxh3)) != block.header_xxh3) {
        problems.add(source.name() +
                     ": the superblock's checksum differs: start time, process and run ids may "
                     "be wrong");
    }
    return block;
}

}  // namespace peakline::report
