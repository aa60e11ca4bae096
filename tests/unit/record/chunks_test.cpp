// Chunks of a trace file: as the writer gets them, and what their headers say.
#include <algorithm>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>

#include "random_program.h"

namespace peakline::test {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kPages = format::kChunkBytes / kPageBytes;

uint64_t faults_of_this_thread() {
    rusage usage = {};
    REQUIRE(getrusage(RUSAGE_THREAD, &usage) == 0);
    return static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

// Older kernels than Linux 5.14 do not.
bool kernel_populates_for_writing() {
    void* page =
        mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    const bool does = madvise(page, kPageBytes, MADV_POPULATE_WRITE) == 0;
    munmap(page, kPageBytes);
    return does;
}

struct OpenFile {
    TemporaryFile file;
    record::FileTarget target;

    OpenFile() { REQUIRE(target.create(file.path(), {}, record::FileTarget::Exists::kReplace)); }
    ~OpenFile() { target.abandon(); }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
};

TEST_CASE("events that are written to a new chunk do not fault", "[record]") {
#ifdef __SANITIZE_THREAD__
    WARN("SKIP: ThreadSanitizer's own memory faults here");
    return;
#endif
    if (!kernel_populates_for_writing()) {
        WARN("SKIP: this kernel populates no pages for writing");
        return;
    }
    OpenFile open;
    for (uint64_t index = 0; index < 3; ++index) {
        unsigned char* const chunk = open.target.open_chunk_slow(index);
        REQUIRE(chunk != nullptr);
        const uint64_t before = faults_of_this_thread();
        for (size_t page = 0; page < kPages; ++page) {
            static_cast<volatile unsigned char*>(chunk)[page * kPageBytes] = 1;
        }
        CHECK(faults_of_this_thread() == before);
        open.target.close_chunk(index, chunk);
    }
}

TEST_CASE("a chunk that was used before is opened as an empty one", "[record]") {
    OpenFile open;
    unsigned char* chunk = open.target.open_chunk_slow(0);
    REQUIRE(chunk != nullptr);
    std::fill_n(chunk, format::kChunkBytes, static_cast<unsigned char>(0xEE));
    open.target.close_chunk(0, chunk);
    open.target.clear_chunk_slow(0);
    chunk = open.target.open_chunk_slow(0);
    REQUIRE(chunk != nullptr);
    CHECK(std::all_of(
        chunk, chunk + format::kChunkBytes, [](unsigned char byte) { return byte == 0; }));
    open.target.close_chunk(0, chunk);
}

std::vector<format::ChunkHeader> headers_of_events(const Bytes& trace) {
    std::vector<format::ChunkHeader> headers;
    const auto reader = report::TraceReader::from_memory("run", trace);
    for (const auto& chunk : reader.chunks()) {
        if (chunk.is(format::ChunkType::kEvents)) {
            headers.push_back(chunk.header);
        }
    }
    return headers;
}

constexpr uint64_t kLargeBytes = uint64_t{1} << 40;
constexpr uint64_t kBlocks = 5;
constexpr uint64_t kBlockBytes = 512;

void alloc(Recorder& recorder, uint64_t address, uint64_t bytes) {
    recorder.record_alloc({address, bytes, bytes, 0, 0, 0}, record::kUnknownTotal);
}

void free(Recorder& recorder, uint64_t address) {
    recorder.record_free(address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
}

// A large block, then for some chunks a few small ones again and again.
void record_levels(Recorder& recorder) {
    alloc(recorder, 4096, kLargeBytes);
    free(recorder, 4096);
    for (int round = 0; round < 40'000; ++round) {
        for (uint64_t i = 1; i <= kBlocks; ++i) {
            alloc(recorder, i * 4096, kBlockBytes);
        }
        for (uint64_t i = 1; i <= kBlocks; ++i) {
            free(recorder, i * 4096);
        }
    }
}

TEST_CASE("a chunk's largest level is its own, not that of a chunk before", "[record]") {
    const TemporaryFile file;
    auto recorder = new_recorder();
    REQUIRE(open_trace(*recorder, file.path()) == 0);
    recorder->start_tracing();
    record_levels(*recorder);
    recorder->close_trace();
    const auto headers = headers_of_events(file.bytes());
    REQUIRE(headers.size() >= 4);
    CHECK(headers[0].max_live_bytes == kLargeBytes);
    for (size_t i = 1; i + 1 < headers.size(); ++i) {
        CHECK(headers[i].max_live_bytes == kBlocks * kBlockBytes);
    }
}

}  // namespace
}  // namespace peakline::test
