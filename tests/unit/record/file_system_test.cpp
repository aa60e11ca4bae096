// File systems without the functions that the trace file needs: no fallocate, a quota, no shared
// mappings. This program replaces the two functions of libc; a test sets their errors.
#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "random_program.h"

namespace {

struct Refusals {
    int fallocate_error = 0;
    off_t allowed_bytes = 0;  // fallocate beyond them fails
    int map_error = 0;        // of shared mappings of files
};
Refusals g_refusals;

}  // namespace

extern "C" int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    if (g_refusals.fallocate_error != 0 && offset + length > g_refusals.allowed_bytes) {
        errno = g_refusals.fallocate_error;
        return -1;
    }
    return static_cast<int>(syscall(SYS_fallocate, descriptor, mode, offset, length));
}

extern "C" void* mmap(void* address,
                      size_t length,
                      int protection,
                      int flags,
                      int descriptor,
                      off_t offset) noexcept {
    if (g_refusals.map_error != 0 && descriptor >= 0 && (flags & MAP_SHARED) != 0) {
        errno = g_refusals.map_error;
        return MAP_FAILED;
    }
    return reinterpret_cast<void*>(
        syscall(SYS_mmap, address, length, protection, flags, descriptor, offset));
}

namespace peakline::test {
namespace {

constexpr uint64_t kBlocks = 2'000'000;
constexpr uint64_t kBlockBytes = 512;

class FileSystem {
public:
    explicit FileSystem(const Refusals& refusals) { g_refusals = refusals; }
    ~FileSystem() { g_refusals = {}; }
    FileSystem(const FileSystem&) = delete;
    FileSystem& operator=(const FileSystem&) = delete;
};

// Allocates two million blocks, all of them live: about 12 MB of events.
struct Recording {
    TemporaryFile file;
    std::unique_ptr<Recorder> recorder = new_recorder();
    int error = open_trace(*recorder, file.path());

    Recording() {
        recorder->start_tracing();
        for (uint64_t i = 1; i <= kBlocks; ++i) {
            recorder->record_alloc(AllocEvent{i * 4096, kBlockBytes, kBlockBytes, 0, 0, 0},
                                   record::kUnknownTotal);
        }
        recorder->close_trace();
    }

    // Queries by the program itself work in any case.
    void check_recorder() const {
        CHECK(recorder->peak_bytes(0, format::Measure::kAllocated) == kBlocks * kBlockBytes);
    }
};

TEST_CASE("a file system without fallocate is recorded to all the same", "[record]") {
    const FileSystem none({EOPNOTSUPP, 0, 0});
    const Recording recording;
    CHECK(recording.error == 0);
    recording.check_recorder();
    const auto reader = report::TraceReader::open_file(recording.file.path());
    const auto result = report::replay(reader, {});
    CHECK(result.chosen.peak_bytes == kBlocks * kBlockBytes);
    CHECK(result.health.problems.texts().empty());
}

TEST_CASE("a quota reached while recording ends the file, not the program", "[record]") {
    const FileSystem quota({EDQUOT, off_t{6} << 20, 0});
    const Recording recording;
    CHECK(recording.error == 0);
    recording.check_recorder();
    const auto reader = report::TraceReader::open_file(recording.file.path());
    const auto result = report::replay(reader, {});
    CHECK(result.chosen.peak_bytes > kBlocks * kBlockBytes / 10);
    CHECK(result.chosen.peak_bytes < kBlocks * kBlockBytes);
    CHECK(result.chosen.peak_bytes % kBlockBytes == 0);
    const auto problems = result.health.problems.texts();
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0], Catch::Contains("could not go on writing (Disk quota exceeded"));
}

TEST_CASE("without room or mappings there is no file, and the program is counted", "[record]") {
    const Refusals no_room = {ENOSPC, 0, 0};
    const Refusals no_mapping = {0, 0, ENODEV};
    for (const Refusals& refusals : {no_room, no_mapping}) {
        const FileSystem broken(refusals);
        const Recording recording;
        CHECK(recording.error == (refusals.map_error != 0 ? ENODEV : ENOSPC));
        CHECK_FALSE(recording.recorder->has_trace());
        recording.check_recorder();
        CHECK(file_bytes(recording.file.path()) == 0);  // the old one, which was empty
    }
}

}  // namespace
}  // namespace peakline::test
