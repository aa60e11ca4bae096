#include "packed_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <zstd.h>

#include "trace_error.h"

namespace peakline::report {
namespace {

constexpr uint32_t kFrameMagic = 0xFD2FB528;
constexpr uint32_t kSkippableMagic = 0x184D2A5E;
constexpr uint32_t kTableMagic = 0x8F92EAB1;
constexpr size_t kFooterBytes = 9;
constexpr size_t kSkippableHeaderBytes = 8;
constexpr size_t kEntryBytes = 8;
constexpr unsigned char kHasChecksums = 0x80;
constexpr unsigned char kReservedBits = 0x7C;
// peakline writes frames of 256 KiB. A larger limit would let a small file claim much memory.
constexpr uint32_t kMaxRawBytes = 1U << 20;

uint32_t u32_at(const unsigned char* at) {
    uint32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

void put_u32(std::vector<unsigned char>& out, uint32_t value) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
}

[[noreturn]] void throw_bad_table(const std::string& name, const std::string& problem) {
    throw TraceError(name + ": is compressed, but " + problem +
                     "; was the copy cut short? `zstd -d` unpacks the whole part");
}

}  // namespace

bool looks_packed(std::span<const unsigned char> first_bytes) {
    return first_bytes.size() >= 4 && u32_at(first_bytes.data()) == kFrameMagic;
}

PackedFile::PackedFile(const std::string& name, uint64_t file_bytes, const ReadBytes& stored) {
    std::vector<unsigned char> scratch;
    if (file_bytes < kSkippableHeaderBytes + kFooterBytes) {
        throw_bad_table(name, "it is too short");
    }
    const auto footer = stored(file_bytes - kFooterBytes, kFooterBytes, scratch);
    if (footer.size() < kFooterBytes || u32_at(footer.data() + 5) != kTableMagic ||
        (footer[4] & kReservedBits) != 0) {
        throw_bad_table(name, "has no table of its pieces at the end");
    }
    const uint64_t count = u32_at(footer.data());
    const size_t entry_bytes = kEntryBytes + ((footer[4] & kHasChecksums) != 0 ? 4 : 0);
    const uint64_t table_bytes = kSkippableHeaderBytes + count * entry_bytes + kFooterBytes;
    if (table_bytes > file_bytes) {
        throw_bad_table(name, "its table of pieces is longer than the file");
    }
    const auto table = stored(file_bytes - table_bytes, static_cast<size_t>(table_bytes), scratch);
    if (table.size() < table_bytes || u32_at(table.data()) != kSkippableMagic ||
        u32_at(table.data() + 4) != table_bytes - kSkippableHeaderBytes) {
        throw_bad_table(name, "its table of pieces is damaged");
    }
    uint64_t offset = 0;
    frames_.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) {
        const unsigned char* entry = table.data() + kSkippableHeaderBytes + i * entry_bytes;
        const Frame frame = {offset, size_bytes_, u32_at(entry), u32_at(entry + 4)};
        offset += frame.bytes;
        size_bytes_ += frame.raw_bytes;
        if (offset > file_bytes - table_bytes || frame.raw_bytes > kMaxRawBytes) {
            throw_bad_table(name, "its table of pieces is damaged");
        }
        frames_.push_back(frame);
    }
}

// The caller holds lock_.
void PackedFile::unpack(const Frame& frame, const ReadBytes& stored) const {
    if (unpacked_ == &frame) {
        return;
    }
    unpacked_ = &frame;
    raw_.resize(frame.raw_bytes);
    const auto packed = stored(frame.offset, frame.bytes, packed_);
    const size_t size = ZSTD_decompress(raw_.data(), raw_.size(), packed.data(), packed.size());
    if (ZSTD_isError(size) != 0 || size != raw_.size()) {
        std::fill(raw_.begin(), raw_.end(), static_cast<unsigned char>(0));
    }
}

std::span<const unsigned char> PackedFile::read(uint64_t offset,
                                                size_t count,
                                                std::vector<unsigned char>& scratch,
                                                const ReadBytes& stored) const {
    if (offset >= size_bytes_) {
        return {};
    }
    count = static_cast<size_t>(std::min<uint64_t>(count, size_bytes_ - offset));
    if (scratch.size() < count) {
        scratch.resize(count);
    }
    const std::lock_guard guard(lock_);
    auto frame = std::upper_bound(
        frames_.begin(), frames_.end(), offset, [](uint64_t wanted, const Frame& one) {
            return wanted < one.raw_offset;
        });
    --frame;
    size_t done = 0;
    while (done < count) {
        unpack(*frame, stored);
        const uint64_t skip = offset + done - frame->raw_offset;
        const size_t part =
            static_cast<size_t>(std::min<uint64_t>(count - done, frame->raw_bytes - skip));
        std::memcpy(scratch.data() + done, raw_.data() + skip, part);
        done += part;
        ++frame;
    }
    return {scratch.data(), count};
}

std::vector<unsigned char> seek_table(
    const std::vector<std::pair<uint32_t, uint32_t>>& frame_sizes) {
    std::vector<unsigned char> out;
    put_u32(out, kSkippableMagic);
    put_u32(out, static_cast<uint32_t>(frame_sizes.size() * kEntryBytes + kFooterBytes));
    for (const auto& [bytes, raw_bytes] : frame_sizes) {
        put_u32(out, bytes);
        put_u32(out, raw_bytes);
    }
    put_u32(out, static_cast<uint32_t>(frame_sizes.size()));
    out.push_back(0);
    put_u32(out, kTableMagic);
    return out;
}

}  // namespace peakline::report
