#include "added_record.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "report/trace/file/field_cursor.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

using format::ChunkHeader;
using format::ChunkType;

constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // size after unpacking
constexpr int kLevel = 9;

using Bytes = std::vector<unsigned char>;

// Returns an empty record when it is too large for a chunk.
Bytes packed_record(format::SummaryType type, uint64_t version, std::string_view content) {
    Bytes packed(ZSTD_compressBound(content.size()));
    packed.resize(
        ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), kLevel));
    Bytes record(4 * format::kMaxVarintBytes);
    unsigned char number[format::kMaxVarintBytes];
    const auto number_bytes = static_cast<size_t>(format::put_uv(number, version) - number);
    unsigned char* end = format::put_uv(record.data(), static_cast<uint64_t>(type));
    end = format::put_uv(end, number_bytes + packed.size());
    record.resize(static_cast<size_t>(end - record.data()));
    record.insert(record.end(), number, number + number_bytes);
    record.insert(record.end(), packed.begin(), packed.end());
    const bool fits = content.size() <= kMostBytes && record.size() <= format::kPayloadBytes;
    return fits ? record : Bytes();
}

uint64_t offset_in_file(uint64_t chunk) {
    return format::kSuperblockBytes + chunk * format::kChunkBytes;
}

class OpenTrace {
public:
    explicit OpenTrace(const std::string& path)
        : path_(path), file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
        check(file_ >= 0);
    }
    ~OpenTrace() {
        if (file_ >= 0) {
            close(file_);
        }
    }
    OpenTrace(const OpenTrace&) = delete;
    OpenTrace& operator=(const OpenTrace&) = delete;

    void read(uint64_t offset, void* bytes, size_t count) const {
        check(pread(file_, bytes, count, static_cast<off_t>(offset)) ==
              static_cast<ssize_t>(count));
    }
    void write(uint64_t offset, const void* bytes, size_t count) const {
        check(pwrite(file_, bytes, count, static_cast<off_t>(offset)) ==
              static_cast<ssize_t>(count));
    }

private:
    void check(bool went_well) const {
        if (!went_well) {
            throw TraceError(path_ +
                             ": cannot add to the trace: " + std::string(std::strerror(errno)));
        }
    }

    const std::string& path_;
    int file_;
};

// Appends to the last chunk if it holds totals, which end the file; else begins a new chunk.
void append(const OpenTrace& trace, const TraceReader& reader, const Bytes& record) {
    const uint64_t count = reader.chunks().size();
    const ChunkEntry* const last = count > 0 ? &reader.chunks().back() : nullptr;
    ChunkHeader header{};
    header.magic = format::kChunkMagic;
    header.type = static_cast<uint16_t>(ChunkType::kSummary);
    header.index = count;
    Bytes payload;
    if (last != nullptr && last->is(ChunkType::kSummary) && last->sealed() && !last->cut() &&
        last->header.committed + record.size() <= format::kPayloadBytes) {
        header = last->header;
        payload.resize(header.committed);
        trace.read(offset_in_file(header.index) + sizeof header, payload.data(), payload.size());
    }
    const uint64_t payload_offset = offset_in_file(header.index) + sizeof header;
    trace.write(payload_offset + payload.size(), record.data(), record.size());
    payload.insert(payload.end(), record.begin(), record.end());
    header.committed = static_cast<uint32_t>(payload.size());
    header.flags |= format::kChunkSealed;
    header.payload_xxh3 = XXH3_64bits(payload.data(), payload.size());
    // This one write within a page makes the record count.
    trace.write(offset_in_file(header.index), &header, sizeof header);
}

}  // namespace

bool add_record(const TraceReader& reader,
                const std::string& path,
                format::SummaryType type,
                uint64_t version,
                std::string_view content) {
    const Bytes record = packed_record(type, version, content);
    if (record.empty() || reader.is_bounded() || reader.is_packed() || reader.is_being_written()) {
        return false;
    }
    append(OpenTrace(path), reader, record);
    return true;
}

std::optional<std::string> content_of_record(std::span<const unsigned char> body,
                                             uint64_t version) {
    FieldCursor cursor(body);
    if (cursor.uv() != version || !cursor.good) {
        return std::nullopt;
    }
    const auto packed_bytes = static_cast<size_t>(cursor.end - cursor.at);
    const unsigned long long bytes = ZSTD_getFrameContentSize(cursor.at, packed_bytes);
    if (bytes > kMostBytes) {  // or a zstd error code, which is larger still
        return std::nullopt;
    }
    std::string content(bytes, '\0');
    const size_t found = ZSTD_decompress(content.data(), content.size(), cursor.at, packed_bytes);
    return found == bytes ? std::optional(std::move(content)) : std::nullopt;
}

}  // namespace peakline::report
