#include "stable_copy.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "superblock.h"
#include "trace_error.h"

namespace peakline::report {
namespace {

using format::ChunkHeader;
using format::ChunkType;
using format::kChunkBytes;
using format::kSuperblockBytes;

// Enough for a checkpoint's first record, which has its number.
constexpr size_t kFirstBytes = 32;

struct ChunkStart {
    ChunkHeader header;
    unsigned char first[kFirstBytes];

    bool is(ChunkType type) const {
        return header.magic == format::kChunkMagic && header.type == static_cast<uint16_t>(type);
    }
};

uint64_t offset_of(size_t number) {
    return kSuperblockBytes + number * kChunkBytes;
}

ChunkStart read_start(const ByteSource& source,
                      size_t number,
                      std::vector<unsigned char>& scratch) {
    ChunkStart start = {};
    const auto bytes = source.read(offset_of(number), sizeof start, scratch);
    std::memcpy(&start, bytes.data(), bytes.size());
    return start;
}

std::vector<ChunkStart> read_starts(const ByteSource& source) {
    std::vector<ChunkStart> starts;
    std::vector<unsigned char> scratch;
    while (offset_of(starts.size()) + sizeof(ChunkStart) <= source.size_bytes()) {
        starts.push_back(read_start(source, starts.size(), scratch));
    }
    return starts;
}

// Whether the chunk is unchanged or has only grown.
bool is_continued(const ChunkStart& before, const ChunkStart& after) {
    const ChunkHeader& old = before.header;
    const ChunkHeader& now = after.header;
    const size_t count = std::min<size_t>(old.committed, kFirstBytes);
    return old.magic == now.magic && old.type == now.type && old.index == now.index &&
           old.first_event == now.first_event && old.first_ordinal == now.first_ordinal &&
           old.first_tick == now.first_tick && old.committed <= now.committed &&
           std::memcmp(before.first, after.first, count) == 0;
}

bool is_definitions(const ChunkStart& start) {
    return start.is(ChunkType::kDefs);
}

// Repeats until two passes over the headers see the same chunks. Exactly these chunks existed at
// some moment between the two passes. After it only the newest EVENTS chunk grows, and its new
// records follow the old ones without a gap.
std::vector<ChunkStart> starts_of_one_moment(ByteSource& source) {
    constexpr int kMostPasses = 200;
    std::vector<ChunkStart> before;
    for (int passes = 1;; ++passes) {
        source.find_size();
        std::vector<ChunkStart> now = read_starts(source);
        const bool is_same = std::equal(before.begin(),
                                        before.end(),
                                        now.begin(),
                                        now.end(),
                                        [](const ChunkStart& old, const ChunkStart& same) {
                                            return is_definitions(same) || is_continued(old, same);
                                        });
        if (is_same || passes == kMostPasses) {
            return now;
        }
        before = std::move(now);
    }
}

// Reads the last chunk first: when a chunk of definitions is visible, the earlier ones are
// complete. The definitions of all events read so far are then there.
void reread_definitions(ByteSource& source, std::vector<ChunkStart>& starts) {
    source.find_size();
    const size_t count = (source.size_bytes() - kSuperblockBytes) / kChunkBytes;
    starts.resize(std::max(starts.size(), count));
    std::vector<unsigned char> scratch;
    for (size_t number = starts.size(); number-- > 0;) {
        const ChunkStart now = read_start(source, number, scratch);
        if (is_definitions(now)) {
            starts[number] = now;
        }
    }
}

int make_file() {
    const char* const folder = std::getenv("TMPDIR");
    const int file = open(folder != nullptr && folder[0] != '\0' ? folder : "/tmp",
                          O_TMPFILE | O_RDWR | O_CLOEXEC,
                          0600);
    return file >= 0 ? file : memfd_create("peakline", MFD_CLOEXEC);
}

class Copy {
public:
    explicit Copy(const ByteSource& source) : name_(source.name()), file_(make_file()) {
        if (file_ < 0) {
            fail();
        }
        std::vector<unsigned char> scratch;
        for (uint64_t offset = 0; offset < source.size_bytes(); offset += kChunkBytes) {
            const auto bytes = source.read(offset, kChunkBytes, scratch);
            write(offset, bytes.data(), bytes.size());
        }
    }
    ~Copy() {
        if (file_ >= 0) {
            close(file_);
        }
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    void write(uint64_t offset, const void* bytes, size_t count) const {
        const auto* from = static_cast<const unsigned char*>(bytes);
        for (size_t done = 0; done < count;) {
            const ssize_t written =
                pwrite(file_, from + done, count - done, static_cast<off_t>(offset + done));
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written <= 0) {
                fail();
            }
            done += static_cast<size_t>(written);
        }
    }
    int take() { return std::exchange(file_, -1); }

private:
    [[noreturn]] void fail() const {
        throw TraceError(name_ + ": is being written, and cannot be copied to read it: " +
                         std::strerror(errno) + "; name a folder with room in TMPDIR");
    }

    std::string name_;
    int file_;
};

}  // namespace

ByteSource stable_copy(ByteSource source) {
    Problems unused;
    if (!source.is_being_written() || !is_bounded(read_superblock(source, unused))) {
        return source;
    }
    std::vector<ChunkStart> before = starts_of_one_moment(source);
    reread_definitions(source, before);
    Copy copy(source);
    const std::vector<ChunkStart> after = read_starts(source);
    for (size_t number = 0; number < std::min(before.size(), after.size()); ++number) {
        const bool is_lost = !is_continued(before[number], after[number]);
        const ChunkHeader header = is_lost ? ChunkHeader{} : before[number].header;
        copy.write(offset_of(number), &header, sizeof header);
    }
    source.read_instead(copy.take());
    return source;
}

}  // namespace peakline::report
