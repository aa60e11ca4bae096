// Damaged, cut and hostile traces: never a crash, always told, and the rest is still read.
#include <algorithm>
#include <fstream>
#include <functional>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "report/trace/trace_error.h"
#include "report_testing.h"

namespace peakline::test {
namespace {

using report::TraceError;

constexpr const char* kThreeChunks = R"(
    start
    alloc a 0x1000 100 stack=f.py:1:f class
    alloc b 0x2000 200 stack=f.py:2:f class
    alloc c 0x3000 300 stack=f.py:3:f
    chunk
    alloc d 0x4000 400 stack=f.py:4:f
    free a
    chunk
    free d
    alloc e 0x5000 50 stack=f.py:5:f
    free b stack=g.py:9:g thread=1
    stop
    end
)";

constexpr size_t kHeaderBytes = sizeof(format::ChunkHeader);

void set_header(Bytes& file, uint64_t chunk, const std::function<void(format::ChunkHeader&)>& set) {
    format::ChunkHeader header;
    unsigned char* at = file.data() + TraceBuilder::chunk_offset(chunk);
    std::memcpy(&header, at, sizeof(header));
    set(header);
    std::memcpy(at, &header, sizeof(header));
}

void set_superblock(Bytes& file, const std::function<void(format::Superblock&)>& set) {
    format::Superblock block;
    std::memcpy(&block, file.data(), sizeof(block));
    set(block);
    block.header_xxh3 = XXH3_64bits(&block, offsetof(format::Superblock, header_xxh3));
    std::memcpy(file.data(), &block, sizeof(block));
}

// Every report of whatever these bytes are; only TraceError may come out.
void read_everything(const Bytes& file) {
    try {
        const OpenTrace trace(file);
        report::make_info(trace.reader);
        for (const char* at : {"peak", "end", "0.5"}) {
            report::ReportOptions options;
            options.selection.at = at;
            report::make_table(trace.reader, options);
        }
        report::make_summary(trace.reader, {});
        report::make_stats(trace.reader, {});
        for (const char* name : {"phases", "layers", "ops", "stages", "tensors"}) {
            for (const auto form : {report::OutputForm::kText, report::OutputForm::kJson}) {
                report::ReportOptions options;
                options.form = form;
                report::find_report(name)(trace.reader, options, {});
            }
        }
    } catch (const TraceError& error) {
        CHECK(std::string(error.what()).size() > 20);
    }
}

// The parts of a file that are not padding.
std::vector<size_t> used_offsets(const Bytes& file, const TraceBuilder& builder) {
    std::vector<size_t> offsets;
    for (size_t i = 0; i < sizeof(format::Superblock); ++i) {
        offsets.push_back(i);
    }
    for (size_t chunk = 0; chunk < builder.chunks().size(); ++chunk) {
        const size_t start = TraceBuilder::chunk_offset(chunk);
        const size_t used = kHeaderBytes + builder.chunks()[chunk].payload.size();
        for (size_t i = 0; i < used && start + i < file.size(); ++i) {
            offsets.push_back(start + i);
        }
    }
    return offsets;
}

std::string error_of(const Bytes& file) {
    try {
        const OpenTrace trace(file);
    } catch (const TraceError& error) {
        return error.what();
    }
    return {};
}

TEST_CASE("an undamaged trace has no problems", "[report]") {
    const OpenTrace trace{std::string(kThreeChunks)};
    const auto health = trace.replay().health;
    CHECK(health.problems.texts().empty());
    CHECK(health.complete());
    CHECK(health.event_count == 11);
}

TEST_CASE("a file that is not a trace is refused with a reason", "[report]") {
    Bytes file = TextTrace(kThreeChunks).bytes();
    CHECK_THAT(error_of({}), Catch::Contains("is empty"));
    CHECK_THAT(error_of(Bytes(50, 'x')), Catch::Contains("ends after 50 bytes"));
    CHECK_THAT(error_of(Bytes(5000, 'x')), Catch::Contains("not a peakline trace"));
    Bytes text_mode = file;
    text_mode[4] = '\n';
    CHECK_THAT(error_of(text_mode), Catch::Contains("binary mode"));
    Bytes newer = file;
    set_superblock(newer, [](auto& block) { block.major = 2; });
    CHECK_THAT(error_of(newer), Catch::Contains("format version 2"));
    Bytes unknown = file;
    set_superblock(unknown, [](auto& block) { block.incompat_flags = 0x40; });
    CHECK_THAT(error_of(unknown), Catch::Contains("incompat flags 0x40"));
    set_superblock(file, [](auto& block) { block.minor = 9, block.compat_flags = 0x40; });
    CHECK(error_of(file).empty());
}

TEST_CASE("a missing file and a directory are told apart", "[report]") {
    CHECK_THROWS_WITH(report::TraceReader::open_file("/nowhere/run.peak"),
                      Catch::Contains("No such file") && Catch::Contains("peakline run"));
    CHECK_THROWS_WITH(report::TraceReader::open_file("/tmp"), Catch::Contains("is a directory"));
    CHECK_THROWS_WITH(report::TraceReader::open_file("/dev/null"),
                      Catch::Contains("not a regular file"));
}

TEST_CASE("a file reads like the same bytes in memory", "[report]") {
    const Bytes file = TextTrace(kThreeChunks).bytes();
    char path[] = "/tmp/peakline-report-XXXXXX";
    const int descriptor = mkstemp(path);
    REQUIRE(descriptor >= 0);
    close(descriptor);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
    const auto reader = report::TraceReader::open_file(path);
    CHECK(report::make_table(reader, {}) == report::make_table(OpenTrace(file).reader, {}));
    unlink(path);
}

TEST_CASE("a killed recording is read to its last event", "[report]") {
    TextTrace text(
        "start\n alloc a 1 100 stack=f.py:1:f\n wait 7812500\n"
        "alloc b 2 200 stack=f.py:2:f\n");
    const OpenTrace trace(text.builder().finish_killed());
    const auto result = trace.replay();
    CHECK(result.chosen.peak_bytes == 300);
    CHECK(mentions(result.health,
                   "ended without a clean end (killed?) at t=1.0 s after 3 events; everything up "
                   "to there is here"));
    CHECK(result.health.problems.texts().size() == 1);
}

TEST_CASE("a file may be cut at any byte", "[report]") {
    TextTrace text(kThreeChunks);
    const Bytes file = text.bytes();
    for (const size_t length : used_offsets(file, text.builder())) {
        INFO("cut after " << length << " bytes");
        const Bytes cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(length));
        read_everything(cut);
        if (length >= sizeof(format::Superblock)) {
            CHECK_FALSE(OpenTrace(cut).replay().health.complete());
        }
    }
}

TEST_CASE("a cut chunk is read to its last whole record and told", "[report]") {
    TextTrace text(kThreeChunks);
    Bytes file = text.bytes();
    const uint32_t committed = static_cast<uint32_t>(text.builder().chunks()[3].payload.size());
    file.resize(TraceBuilder::chunk_offset(3) + kHeaderBytes + 2);
    const auto result = OpenTrace(file).replay();
    CHECK(result.chosen.peak_bytes == 1000);
    CHECK(result.health.event_count == 7);
    CHECK(mentions(
        result.health,
        "chunk 3 ends after 2 of " + std::to_string(committed) + " bytes; was the program killed"));
}

TEST_CASE("any byte may be flipped, and damage in a sealed payload skips its chunk", "[report]") {
    TextTrace text(kThreeChunks);
    const Bytes file = text.bytes();
    for (const size_t offset : used_offsets(file, text.builder())) {
        INFO("flipped byte " << offset);
        for (const int mask : {0x01, 0x80, 0xFF}) {
            Bytes damaged = file;
            damaged[offset] = static_cast<unsigned char>(damaged[offset] ^ mask);
            read_everything(damaged);
            const size_t in_chunk = offset < format::kSuperblockBytes
                                        ? 0
                                        : (offset - format::kSuperblockBytes) % format::kChunkBytes;
            if (in_chunk >= kHeaderBytes) {
                const size_t chunk = (offset - format::kSuperblockBytes) / format::kChunkBytes;
                const auto health = OpenTrace(damaged).replay().health;
                CHECK(mentions(health, "chunk " + std::to_string(chunk)));
                CHECK(mentions(health, "checksum differs"));
            }
        }
    }
}

TEST_CASE("after a skipped chunk later frees are matched by their ordinals", "[report]") {
    TextTrace text(kThreeChunks);
    Bytes file = text.bytes();
    file[TraceBuilder::chunk_offset(2) + kHeaderBytes + 1] ^= 0xFF;
    const auto result = OpenTrace(file).replay();
    // d and the free of a are lost; the free of d matches nothing, the free of b is found.
    CHECK(result.chosen.peak_bytes == 650);
    CHECK(result.chosen.level_bytes == 450);
    CHECK(mentions(result.health, "chunk 2 checksum differs: chunk skipped"));
    CHECK(mentions(result.health, "1 frees name allocations that are not in the trace"));
    CHECK(result.health.problems.texts().size() == 2);
}

constexpr const char* kTwoDefinitionChunks = R"(
    start
    alloc a 0x1000 100 stack=f.py:1:f;main.py:9:main class
    defchunk
    alloc b 0x2000 200 stack=f.py:2:f;main.py:9:main class
    alloc c 0x3000 400 stack=g.py:3:g
    defchunk
    alloc d 0x4000 800 stack=h.py:4:h;main.py:9:main class
    stop
    end
)";

// The place of the n-th DEFS chunk among all chunks.
size_t definition_chunk(const TraceBuilder& builder, size_t n) {
    for (size_t i = 0; i < builder.chunks().size(); ++i) {
        const bool defines =
            builder.chunks()[i].header.type == static_cast<uint16_t>(format::ChunkType::kDefs);
        if (defines && n-- == 0) {
            return i;
        }
    }
    throw std::out_of_range("not so many DEFS chunks");
}

TEST_CASE("a damaged chunk of definitions costs its own definitions only", "[report]") {
    TextTrace text(kTwoDefinitionChunks);
    Bytes file = text.bytes();
    const OpenTrace whole(file);
    const size_t damaged = definition_chunk(text.builder(), 1);
    file[TraceBuilder::chunk_offset(damaged) + kHeaderBytes] ^= 0xFF;
    const OpenTrace trace(file);
    // The class of b is lost and with it its size; c lies in its event, only its place is lost.
    CHECK(trace.rows().substr(0, trace.rows().find("test.peak")) ==
          "800 B  800 B  800 B  1  h.py:4 (h)\n"
          "400 B  1.172 KB  400 B  1  lost definition\n"
          "100 B  1.270 KB  100 B  1  f.py:1 (f)\n");
    const auto health = trace.replay().health;
    CHECK(mentions(health, "(definitions): its checksum differs: chunk skipped"));
    CHECK(mentions(health, "definitions are lost with damaged chunks"));
    CHECK(mentions(health, "1 allocations have no readable definition"));
    CHECK(mentions(health, "1 allocations name a place that is not defined"));
    CHECK(trace.reader.definitions().contexts[4].python_node ==
          whole.reader.definitions().contexts[4].python_node);
    CHECK_THAT(report::make_stats(trace.reader, {}), Catch::Contains("lost definition"));
}

TEST_CASE("a stack whose caller is lost keeps the frames that are known", "[report]") {
    TextTrace text(
        "defchunk\n alloc a 0x1000 100 stack=main.py:9:main\n defchunk\n"
        "start\n alloc b 0x2000 200 stack=f.py:2:f;main.py:9:main class\n stop\n end\n");
    Bytes file = text.bytes();
    const size_t damaged = definition_chunk(text.builder(), 1);
    set_header(file, damaged, [](auto& header) { header.magic = 7; });
    report::SelectionText by;
    by.by = "stack";
    CHECK_THAT(OpenTrace(file).rows(by),
               Catch::StartsWith("200 B  200 B  200 B  1  f.py:2 (f) <- "
                                 "lost definition\n"));
}

TEST_CASE("ids in a header that do not follow are not believed", "[report]") {
    TextTrace text(kTwoDefinitionChunks);
    const Bytes whole = text.bytes();
    for (const uint32_t wrong : {0U, 1U, 3U, UINT32_MAX}) {
        for (size_t type = 1; type <= 10; ++type) {
            for (const size_t chunk : {0, 1, 2}) {
                Bytes file = whole;
                set_header(file, definition_chunk(text.builder(), chunk), [&](auto& header) {
                    header.first_ids[type] =
                        wrong == 3 ? header.first_ids[type] + 1 : wrong - (chunk == 0 ? 0 : 1);
                    header.flags = 0;  // as in a killed recording: no checksum
                });
                const std::string rows = OpenTrace(file).rows();
                for (const char* line : {"f.py:1 (f)", "f.py:2 (f)", "g.py:3 (g)", "h.py:4 (h)"}) {
                    const size_t at = rows.find(line);
                    const size_t start = at == std::string::npos ? 0 : rows.rfind('\n', at) + 1;
                    const char* size = line[5] == '1'   ? "100 B"
                                       : line[5] == '2' ? "200 B"
                                       : line[5] == '3' ? "400 B"
                                                        : "800 B";
                    CHECK((at == std::string::npos || rows.compare(start, 5, size) == 0));
                }
            }
        }
    }
}

TEST_CASE("damage in definitions costs the names and sizes of later chunks", "[report]") {
    TextTrace text(kThreeChunks);
    Bytes file = text.bytes();
    file[TraceBuilder::chunk_offset(0) + kHeaderBytes + 3] ^= 0xFF;
    const auto result = OpenTrace(file).replay();
    CHECK(result.chosen.peak_bytes == 700);
    CHECK(mentions(result.health, "2 allocations have no readable definition"));
    CHECK(mentions(result.health, "3 allocations name a place that is not defined"));
}

TEST_CASE("a damaged header skips its chunk and says which field", "[report]") {
    const Bytes file = TextTrace(kThreeChunks).bytes();
    const auto health_with = [&](const std::function<void(format::ChunkHeader&)>& set) {
        Bytes damaged = file;
        set_header(damaged, 2, set);
        return OpenTrace(damaged).replay().health;
    };
    CHECK(mentions(health_with([](auto& header) { header.magic = 1; }), "magic number"));
    CHECK(mentions(health_with([](auto& header) { header.magic = 0; }), "blank header"));
    CHECK(mentions(health_with([](auto& header) { header.index = 7; }), "says it is chunk 7"));
    CHECK(mentions(health_with([](auto& header) { header.type = 99; }), "unknown type 99"));
    CHECK(mentions(health_with([](auto& header) { header.committed = UINT32_MAX; }),
                   "4294967295 bytes are committed"));
    CHECK(mentions(health_with([](auto& header) { header.first_ordinal = UINT64_MAX; }),
                   "says it begins at event"));
    CHECK(mentions(health_with([](auto& header) { header.event_count = 9; }), "its header says 9"));
}

TEST_CASE("a lost chunk is noticed by the counters of the next one", "[report]") {
    Bytes file = TextTrace(kThreeChunks).bytes();
    set_header(file, 2, [](auto& header) {
        header.type = static_cast<uint16_t>(format::ChunkType::kSummary);
    });
    const auto result = OpenTrace(file).replay();
    CHECK(mentions(result.health, "chunk 3 says it begins at event 6 and allocation 4"));
    CHECK(result.chosen.level_bytes == 450);
}

TEST_CASE("definitions that name nothing keep their ids", "[report]") {
    TraceBuilder builder;
    const uint32_t file = builder.define_string("f.py");
    builder.define(format::DefType::kPythonFrame, fields({77, 0, 0, 1}));
    const uint32_t good = builder.define(format::DefType::kPythonFrame, fields({file, 0, 0, 2}));
    builder.define(format::DefType::kPythonNode, fields({9, good}));  // its own descendant
    const uint32_t node = builder.define(format::DefType::kPythonNode, fields({0, good}));
    builder.define(format::DefType::kContext, fields({0, node, 0, 0, 0, 0}));
    builder.define(static_cast<format::DefType>(77), fields({1, 2, 3}));  // of a newer minor
    builder.mark(format::MarkKind::kTracingStarted);
    builder.alloc_inline(fields({1, 0, 0, 8, 0}), 1);
    builder.extended(static_cast<format::ExtendedType>(77), fields({1, 2, 3}));
    builder.mark(format::MarkKind::kProcessEnd);
    const OpenTrace trace(builder.finish());
    CHECK_THAT(trace.rows(), Catch::StartsWith("8 B  8 B  8 B  1  f.py:2\n"));
    CHECK(mentions(trace.replay().health, "2 definitions name things that are not defined"));
}

TEST_CASE("impossible numbers in events end their chunk, not the reader", "[report]") {
    const auto health_of = [](const std::function<void(TraceBuilder&)>& add) {
        TraceBuilder builder;
        builder.define(format::DefType::kContext, fields({0, 0, 0, 0, 0, 0}));
        builder.mark(format::MarkKind::kTracingStarted);
        add(builder);
        builder.mark(format::MarkKind::kProcessEnd);
        return OpenTrace(builder.finish()).replay().health;
    };
    CHECK(mentions(health_of([](auto& b) {
                       b.alloc_inline(fields({1, 0, 0, UINT64_MAX, 0}), 1);
                   }),
                   "impossible sizes"));
    CHECK(mentions(health_of([](auto& b) {
                       b.alloc_inline(fields({1, 5000, 0, 8, 0}), 1);
                   }),
                   "impossible sizes"));
    CHECK(mentions(health_of([](auto& b) { b.alloc_class(12345, 1); }), "no readable definition"));
    CHECK(mentions(health_of([](auto& b) { b.alloc_class(0, 1); }), "invalid class id"));
    CHECK(mentions(health_of([](auto& b) { b.free(b.next_ordinal()); }), "names no allocation"));
    CHECK(mentions(health_of([](auto& b) { b.free(uint64_t{0} - 5); }), "not in the trace"));
    CHECK(mentions(health_of([](auto& b) { b.extended(format::ExtendedType::kLoss, fields({1})); }),
                   "shorter than its fields"));
}

TEST_CASE("the list of problems stays short", "[report]") {
    TraceBuilder builder;
    for (int i = 0; i < 200; ++i) {
        builder.next_event_chunk();
        builder.mark(format::MarkKind::kStep);
    }
    Bytes file = builder.finish();
    for (uint64_t chunk = 0; chunk < 200; ++chunk) {
        file[TraceBuilder::chunk_offset(chunk) + kHeaderBytes] ^= 1;
    }
    const auto texts = OpenTrace(file).replay().health.problems.texts();
    CHECK(texts.size() == report::Problems::kKept + 1);
    CHECK_THAT(texts.back(), Catch::Contains("more problems"));
}

}  // namespace
}  // namespace peakline::test
