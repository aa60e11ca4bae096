// The totals at the end of a trace: stats from them are those of a pass over the events, and they
// are believed only where they are whole.
#include <algorithm>
#include <cstring>

#include "random_program.h"
#include "report/replay/totals/allocation_totals.h"
#include "report/reports/report.h"

namespace peakline::test {
namespace {

using format::ChunkType;
using format::ExtendedType;
using report::TraceReader;

format::ChunkHeader header_at(const Bytes& bytes, size_t chunk) {
    format::ChunkHeader header;
    std::memcpy(&header, &bytes[TraceBuilder::chunk_offset(chunk)], sizeof header);
    return header;
}

bool is_chunk(const Bytes& bytes, size_t chunk, ChunkType type) {
    return header_at(bytes, chunk).type == static_cast<uint16_t>(type);
}

// The same trace as one that was never told its totals: their chunks are the last ones.
Bytes without_totals(Bytes bytes, const TraceReader& reader) {
    for (size_t n = reader.chunks().size(); n-- > 0 && is_chunk(bytes, n, ChunkType::kSummary);) {
        const auto begin = bytes.begin() + static_cast<ptrdiff_t>(TraceBuilder::chunk_offset(n));
        std::fill(begin, begin + sizeof(format::ChunkHeader), 0);
    }
    return bytes;
}

std::string stats_of(const TraceReader& reader, const char* by, const char* measure) {
    report::ReportOptions options;
    options.form = report::OutputForm::kJson;
    options.selection.by = by;
    options.selection.measure = measure;
    return report::make_stats(reader, options, {});
}

void check_same_stats(const TraceReader& one, const TraceReader& other) {
    for (const char* measure : {"allocated", "requested"}) {
        for (const char* by : {"line", "stack", "thread", "stream", "device"}) {
            REQUIRE(stats_of(one, by, measure) == stats_of(other, by, measure));
        }
    }
}

std::string first_screen_of(const TraceReader& reader, const char* by, const char* measure) {
    report::ReportOptions options;
    options.form = report::OutputForm::kJson;
    options.selection.by = by;
    options.selection.measure = measure;
    return report::make_table(reader, options, {}) + report::make_summary(reader, options, {});
}

// Table and summary at the peak, from the recorder's views and from the events.
void check_same_first_screen(const TraceReader& one, const TraceReader& other) {
    for (const char* measure : {"allocated", "requested"}) {
        for (const char* by : {"line", "stack", "thread", "stream", "device"}) {
            REQUIRE(first_screen_of(one, by, measure) == first_screen_of(other, by, measure));
        }
    }
}

// The totals of this trace equal those of its events, and are read without the events.
void check_totals(const Bytes& bytes) {
    const auto reader = TraceReader::from_memory("run", bytes);
    REQUIRE(reader.whole_totals() != nullptr);
    const Bytes bare = without_totals(bytes, reader);
    const auto decoded = TraceReader::from_memory("run", bare);
    REQUIRE(decoded.whole_totals() == nullptr);
    check_same_stats(reader, decoded);
    const bool has_views = reader.whole_views() != nullptr;
    check_same_first_screen(reader, decoded);
    Bytes broken = bytes;
    for (size_t n = 0; n < reader.chunks().size(); ++n) {
        const bool is_last =
            reader.chunks()[n].header.first_event + reader.chunks()[n].header.event_count ==
            reader.whole_totals()->event_count;
        if (is_chunk(bytes, n, ChunkType::kEvents) && !is_last) {
            const size_t payload = TraceBuilder::chunk_offset(n) + sizeof(format::ChunkHeader);
            std::fill_n(broken.begin() + static_cast<ptrdiff_t>(payload), 1000, 0xFF);
        }
    }
    const auto unreadable = TraceReader::from_memory("run", broken);
    check_same_stats(unreadable, decoded);
    if (has_views) {
        check_same_first_screen(unreadable, decoded);
    }
}

// Records the events that a random program never makes.
void record_rare_events(Recorder& recorder) {
    record::StackTable& table = recorder.table();
    const uint32_t thread = table.add_thread(17, "loader", 6);
    const uint32_t name = table.intern_string("scope", 5);
    const uint32_t stream = table.intern_stream(0x55);
    const uint32_t context = table.intern_context(record::Context{thread, 0, 0, 0, name, 0});
    recorder.record_scope(format::ScopeAction::kBegin, thread, name);
    recorder.record_scope(format::ScopeAction::kEnd, thread, name);
    recorder.record_segment(format::SegmentAction::kAlloc, 1, stream, 1 << 20, 1 << 21);
    recorder.record_out_of_memory({context, 1, 1 << 30, 1 << 20}, {1000, stream, 1 << 25});
    recorder.record(format::ValueRead{context, 8, name, format::kReadsSize});
    // As often as one another: rows of them have one order all the same.
    for (uint32_t i = 0; i < 20; ++i) {
        const std::string operators = "aten::op" + std::to_string(i * 7 % 20);
        const uint32_t names = table.intern_string(operators.data(), operators.size());
        recorder.record(format::ValueRead{context, 8, names, 0});
    }
    for (uint64_t i = 0; i < 3; ++i) {
        const uint64_t address = uint64_t{1} << (40 + i);
        recorder.record_alloc({address, 0, i, context, stream, 2}, record::kUnknownTotal);
        const auto kind = i == 0 ? Recorder::FreeKind::kDeferred : Recorder::FreeKind::kCompleted;
        recorder.record_free(address, 2, kind, record::kUnknownTotal, context);
    }
}

TEST_CASE("stats from the totals of a trace are those of its events", "[record][totals]") {
    for (uint32_t seed = 1; seed <= 20; ++seed) {
        INFO("seed " << seed);
        const TemporaryFile file;
        RandomProgram program(seed);
        program.use_phases();
        program.run(static_cast<int>(seed % 4) * 100);  // live when the file is opened
        program.open(file.path());
        program.run(100);
        program.set_tracing(true);
        record_rare_events(program.recorder());
        program.run(seed % 2 == 0 ? 300 : 120'000);
        program.recorder().close_trace();
        check_totals(file.bytes());
    }
}

TEST_CASE("the first screen of a closed trace needs none of its events", "[record][totals]") {
    for (const uint32_t seed : {61U, 62U, 63U, 64U}) {
        INFO("seed " << seed);
        const TemporaryFile file;
        RandomProgram program(seed);
        program.run(seed % 2 == 0 ? 200 : 0);  // live when the file is opened
        program.open(file.path());
        program.set_tracing(true);
        program.run(80'000);
        record_rare_events(program.recorder());
        program.set_tracing(false);
        program.run(1000);
        program.set_tracing(true);
        program.run(40'000);
        program.recorder().record_main_end();
        program.run(500);  // exit handlers
        program.recorder().record_main_end();
        program.run(500);
        program.recorder().close_trace();
        const Bytes bytes = file.bytes();
        REQUIRE(TraceReader::from_memory("run", bytes).whole_views() != nullptr);
        check_totals(bytes);
    }
}

TEST_CASE("peaks that were reset within a trace are read from its events", "[record][totals]") {
    const TemporaryFile file;
    RandomProgram program(65);
    program.open(file.path());
    program.set_tracing(true);
    program.run(5000);
    program.recorder().reset_peaks();
    program.run(100);
    program.recorder().close_trace();
    const Bytes bytes = file.bytes();
    CHECK(TraceReader::from_memory("run", bytes).whole_views() == nullptr);
    check_totals(bytes);
}

TEST_CASE("shapes that come and go are in the totals", "[record][totals]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path());
    std::vector<uint32_t> contexts;
    for (uint32_t i = 0; i < 40; ++i) {
        contexts.push_back(
            recorder->table().intern_context(record::Context{0, 0, 0, 0, 0, i << 8}));
    }
    // Twice as many as there are slots for shapes that repeat: classes lose theirs and come again.
    std::mt19937_64 random(5);
    for (uint64_t i = 1; i <= 400'000; ++i) {
        const uint64_t bytes = random() % 4 == 0 ? random() % 100'000'000 : random() % 130'000;
        const auto device = static_cast<uint32_t>(bytes % 3);
        recorder->record_alloc({i * 4096, bytes, bytes + 100, contexts[bytes % 40], 0, device},
                               record::kUnknownTotal);
        recorder->record_free(
            i * 4096, device, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
    }
    recorder->close_trace();
    const Bytes bytes = file.bytes();
    const auto reader = TraceReader::from_memory("run", bytes);
    REQUIRE(reader.whole_totals() != nullptr);
    CHECK(reader.whole_totals()->class_counts.size() > 50'000);
    CHECK(reader.whole_totals()->inline_totals.size() == 40 * 3);
    check_totals(bytes);
}

TEST_CASE("a killed or bounded recording has no totals and is counted all the same",
          "[record][totals]") {
    const TemporaryFile file;
    RandomProgram program(31);
    program.open(file.path());
    program.set_tracing(true);
    program.run(20'000);
    const Bytes killed = file.bytes();
    const auto reader = TraceReader::from_memory("killed", killed);
    CHECK(reader.whole_totals() == nullptr);
    CHECK_THAT(stats_of(reader, "line", "allocated"), Catch::Contains("was killed or interrupted"));
    for (const auto kind : {record::Keep::Kind::kPeak, record::Keep::Kind::kLast}) {
        const TemporaryFile bounded;
        RandomProgram other(32);
        other.open(bounded.path(), {kind, uint64_t{4} << 20});
        other.run(20'000);
        other.recorder().close_trace();
        CHECK(TraceReader::open_file(bounded.path()).whole_totals() == nullptr);
    }
}

TEST_CASE("events after the end of the process are not in the trace", "[record][totals]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path());
    const auto alloc = [&](uint64_t address) {
        recorder->record_alloc({address, 100, 512, 0, 0, 0}, record::kUnknownTotal);
    };
    alloc(4096);
    alloc(8192);
    recorder->close_trace();
    alloc(12288);
    recorder->record_free(4096, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
    recorder->close_trace();
    CHECK(recorder->level_bytes(0, format::Measure::kAllocated) == 2 * 512);
    const Bytes bytes = file.bytes();
    const auto reader = TraceReader::from_memory("run", bytes);
    CHECK(reader.whole_totals()->alloc_count == 2);
    CHECK(report::replay(reader, {}).health.problems.texts() == std::vector<std::string>{});
    check_totals(bytes);
}

TEST_CASE("the totals of a second trace begin at zero", "[record][totals]") {
    const TemporaryFile first;
    const TemporaryFile second;
    RandomProgram program(41);
    program.use_phases();
    program.open(first.path());
    program.set_tracing(true);
    program.run(5000);
    program.recorder().close_trace();
    program.open(second.path());
    program.run(3000);
    program.recorder().close_trace();
    check_totals(first.bytes());
    check_totals(second.bytes());
}

TEST_CASE("damaged totals are told and the events read instead", "[record][totals]") {
    const TemporaryFile file;
    RandomProgram program(51);
    program.open(file.path());
    program.set_tracing(true);
    program.run(5000);
    program.recorder().close_trace();
    const Bytes bytes = file.bytes();
    const auto reader = TraceReader::from_memory("run", bytes);
    const size_t last = reader.chunks().size() - 1;
    REQUIRE(is_chunk(bytes, last, ChunkType::kSummary));
    const size_t payload = TraceBuilder::chunk_offset(last) + sizeof(format::ChunkHeader);
    const Bytes bare = without_totals(bytes, reader);
    const std::string expected =
        report::make_table(TraceReader::from_memory("run", bare), report::ReportOptions(), {});
    const auto count = [](const TraceReader& trace) {
        return report::count_allocations(trace).records.alloc_class;
    };
    const uint64_t alloc_class = count(reader);
    for (size_t at = payload; at < bytes.size(); at += 7) {
        Bytes damaged = bytes;
        damaged[at] ^= 0x04;
        // Once noticed by the checksum, once without one.
        for (const bool has_checksum : {true, false}) {
            const auto found = TraceReader::from_memory("run", damaged);
            if (has_checksum) {
                CHECK(found.whole_totals() == nullptr);
                CHECK(count(found) == alloc_class);
                CHECK_FALSE(found.problems().empty());
            } else {
                report::count_allocations(found);  // any result, but no crash and no endless list
            }
            format::ChunkHeader header = header_at(damaged, last);
            header.flags = 0;
            std::memcpy(&damaged[TraceBuilder::chunk_offset(last)], &header, sizeof header);
        }
    }
    CHECK_THAT(expected, Catch::Contains("Max mem"));
}

}  // namespace
}  // namespace peakline::test
