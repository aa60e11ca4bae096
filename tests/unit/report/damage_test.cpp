// Damaged, cut and hostile traces: never a crash, always told, and the rest is still read.
#include <algorithm>
#include <fstream>
#include <functional>

#include <unistd.h>

#include "damaged_trace.h"
#include "report/trace/file/trace_error.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::TraceError;

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
            report::make_table(trace.reader, options, {});
        }
        report::make_summary(trace.reader, {}, {});
        report::ReportOptions parts;
        parts.form = report::OutputForm::kDocument;
        parts.selection.by = "stack";
        report::make_table(trace.reader, parts, {});
        report::make_stats(trace.reader, {}, {});
        for (const char* name : {"phases",
                                 "layers",
                                 "ops",
                                 "stages",
                                 "tensors",
                                 "holders",
                                 "leaks",
                                 "oom",
                                 "advise"}) {
            for (const auto form : {report::OutputForm::kDocument, report::OutputForm::kJson}) {
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
    CHECK_THAT(error_of(Bytes(file.begin(), file.begin() + 50)),
               Catch::Contains("ends after 50 bytes"));
    CHECK_THAT(error_of(Bytes(50, 'x')), Catch::Contains("not a peakline trace"));
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

TEST_CASE("a missing file and a directory give different messages", "[report]") {
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
    CHECK(report::make_table(reader, {}, {}) == report::make_table(OpenTrace(file).reader, {}, {}));
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
                   "the program was killed or interrupted: everything up to its end at t=1.0 s "
                   "(3 events) is here"));
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

TEST_CASE("a cut chunk is read to its last whole record and reported", "[report]") {
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

TEST_CASE("a damaged header skips its chunk, and the message names the field", "[report]") {
    const Bytes file = TextTrace(kThreeChunks).bytes();
    const auto health_with = [&](const std::function<void(format::ChunkHeader&)>& set) {
        Bytes damaged = file;
        set_header(damaged, 2, set);
        return OpenTrace(damaged).replay().health;
    };
    CHECK(mentions(health_with([](auto& header) { header.magic = 1; }), "magic number"));
    CHECK(mentions(health_with([](auto& header) { header.magic = 0; }), "blank header"));
    CHECK(mentions(health_with([](auto& header) { header.index = 7; }),
                   "has the number 7 in its header"));
    CHECK(mentions(health_with([](auto& header) { header.type = 99; }), "unknown type 99"));
    CHECK(mentions(health_with([](auto& header) { header.committed = UINT32_MAX; }),
                   "4294967295 committed bytes"));
    CHECK(mentions(health_with([](auto& header) { header.first_ordinal = UINT64_MAX; }),
                   "has a header that begins at event"));
    CHECK(
        mentions(health_with([](auto& header) { header.event_count = 9; }), "its header counts 9"));
}

TEST_CASE("a lost chunk is noticed by the counters of the next one", "[report]") {
    Bytes file = TextTrace(kThreeChunks).bytes();
    set_header(file, 2, [](auto& header) {
        header.type = static_cast<uint16_t>(format::ChunkType::kSummary);
    });
    const auto result = OpenTrace(file).replay();
    CHECK(mentions(result.health, "chunk 3 has a header that begins at event 6 and allocation 4"));
    CHECK(result.chosen.level_bytes == 450);
}

TEST_CASE("an end mark counts only as the last record", "[report]") {
    const auto problems_of = [](const char* end) {
        const OpenTrace trace{"start\nalloc a 0x1000 100 stack=f.py:1:f\n" + std::string(end)};
        const auto result = trace.replay();
        CHECK(result.health.complete() == result.health.problems.texts().empty());
        const std::string stats = report::make_stats(trace.reader, {}, {});
        CHECK((stats.find("killed or interrupted") == std::string::npos) ==
              result.health.complete());
        return result.health.problems.texts();
    };
    CHECK(problems_of("end").empty());
    CHECK(problems_of("end\nalloc b 0x2000 200 stack=f.py:2:f\nend").empty());
    CHECK(problems_of("chunk\nend").empty());
    for (const char* end : {"end\nalloc b 0x2000 200 stack=f.py:2:f",
                            "end\nfree a",
                            "end\nchunk\nfree a",
                            "end\nnote later"}) {
        INFO(end);
        const auto problems = problems_of(end);
        REQUIRE(problems.size() == 1);
        CHECK_THAT(problems[0], Catch::Contains("killed or interrupted"));
    }
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
    CHECK(mentions(health_of([](auto& b) { b.alloc_inline(fields({1, 0, 0, UINT64_MAX, 0}), 1); }),
                   "impossible sizes"));
    CHECK(mentions(health_of([](auto& b) { b.alloc_inline(fields({1, 5000, 0, 8, 0}), 1); }),
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
