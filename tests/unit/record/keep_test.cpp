// Recordings with a bounded file: the kept part is exact, however often chunks were reused, and the
// trace states its extent.
#include "random_program.h"
#include "report/reports/report.h"
#include "report/trace/file/trace_error.h"

namespace peakline::test {
namespace {

using record::Keep;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

report::ReplayResult ask_phase(const report::TraceReader& reader,
                               uint32_t phase,
                               uint32_t device,
                               Measure measure) {
    return ask(reader, device, measure, RandomProgram::phase_name(phase).c_str());
}

void check_phases(const report::TraceReader& reader, const RandomProgram& program) {
    for (uint32_t phase = 0; phase < kPhases; ++phase) {
        for (uint32_t device = 0; device < kDevices; ++device) {
            for (const Measure measure : kMeasures) {
                const View& view = program.phase_view(phase, device, measure);
                const auto result = ask_phase(reader, phase, device, measure);
                CHECK(result.blocks.level_bytes == view.peak);
                CHECK(groups_of(result.blocks) == view.at_peak);
            }
        }
    }
}

void check_views(const report::TraceReader& reader, RandomProgram& program) {
    for (uint32_t device = 0; device < kDevices; ++device) {
        for (const Measure measure : kMeasures) {
            check_view(reader, program, device, measure);
        }
    }
}

void check_reports(const report::TraceReader& reader, const char* kept) {
    report::ReportOptions options;
    CHECK_THAT(report::make_table(reader, options, {}), Catch::Contains(kept));
    CHECK_THAT(report::make_summary(reader, options, {}), Catch::Contains(kept));
    CHECK_THAT(report::make_stats(reader, options, {}), Catch::Contains(kept));
    options.form = report::OutputForm::kJson;
    for (const auto make : {report::make_table, report::make_summary, report::make_stats}) {
        CHECK_THAT(make(reader, options, {}), Catch::Contains("\"events_dropped\":"));
    }
}

// Records so many events, which lie in the file's first chunk for events and a few more bytes.
bool ends_cleanly_after(uint64_t event_count) {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path(), {Keep::Kind::kPeak, 0});
    for (uint64_t i = 1; i <= event_count; ++i) {
        recorder->record_alloc({i * 512, 512, 512, 0, 0, 0}, record::kUnknownTotal);
    }
    recorder->close_trace();
    return report::replay(report::TraceReader::open_file(file.path()), {}).health.clean_end;
}

TEST_CASE("the mark of the end is the last event, where a checkpoint is due, too",
          "[record][keep]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path(), {Keep::Kind::kPeak, 0});
    uint64_t event_count = 0;
    uint64_t bytes_before = 0;
    uint64_t bytes = recorder->counters().trace_bytes;
    do {  // until a checkpoint was written
        bytes_before = bytes;
        ++event_count;
        recorder->record_alloc({event_count * 512, 512, 512, 0, 0, 0}, record::kUnknownTotal);
        bytes = recorder->counters().trace_bytes;
    } while (bytes < bytes_before + 1000);
    for (uint64_t fewer = 0; fewer < 40; ++fewer) {
        INFO(event_count - fewer);
        CHECK(ends_cleanly_after(event_count - fewer));
    }
}

TEST_CASE("a peak-only recording knows the peaks of devices and phases", "[record][keep]") {
    for (uint32_t seed = 1; seed <= 2; ++seed) {
        INFO("seed " << seed);
        const TemporaryFile file;
        RandomProgram program(seed);
        program.use_phases();
        program.run(3000);  // blocks that are live at the opening count, too
        program.open(file.path(), {Keep::Kind::kPeak, 0});
        program.recorder().put_meta("keep", "peak", 4);
        program.set_tracing(true);
        for (const int event_count : {3000, 120'000, 120'000}) {
            program.run(event_count);
            // The recorder still has the file open: these are the bytes a killed process leaves.
            const auto reader = report::TraceReader::open_file(file.path());
            check_views(reader, program);
            check_phases(reader, program);
        }
        CHECK(file_bytes(file.path()) < 6 * kMebibyte);
        program.set_tracing(true);
        program.recorder().close_trace();
        const auto reader = report::TraceReader::open_file(file.path());
        check_views(reader, program);
        check_phases(reader, program);
        check_reports(reader, "Kept (--keep peak)");
        CHECK(report::replay(reader, {}).health.problems.texts().empty());
        CHECK(reader.checkpoint()->first_event > 50'000);
    }
}

TEST_CASE("a recording of the last bytes keeps them and the peak of the whole run",
          "[record][keep]") {
    for (uint32_t seed = 11; seed <= 12; ++seed) {
        INFO("seed " << seed);
        const TemporaryFile file;
        RandomProgram program(seed);
        program.open(file.path(), {Keep::Kind::kLast, 4 * kMebibyte});
        program.recorder().put_meta("keep", "last:4MiB", 9);
        program.set_tracing(true);
        for (const int event_count : {3000, 300'000, 500'000}) {
            program.run(event_count);
            check_views(report::TraceReader::open_file(file.path()), program);
        }
        program.recorder().close_trace();
        CHECK(file_bytes(file.path()) <= 5 * kMebibyte);
        const auto reader = report::TraceReader::open_file(file.path());
        check_views(reader, program);
        check_reports(reader, "Kept (--keep last:4MiB)");
        const auto result = report::replay(reader, {});
        CHECK(result.health.problems.texts().empty());
        CHECK(reader.checkpoint()->first_event > 50'000);
        CHECK(result.health.event_count > 150'000);
    }
}

TEST_CASE("a moment before what is kept is refused with the moment it begins", "[record][keep]") {
    const TemporaryFile file;
    RandomProgram program(5);
    program.open(file.path(), {Keep::Kind::kPeak, 0});
    program.set_tracing(true);
    program.run(100'000);
    const auto reader = report::TraceReader::open_file(file.path());
    REQUIRE(reader.checkpoint()->tick > 0);
    CHECK_THROWS_WITH(ask(reader, 0, Measure::kAllocated, "0.000001"),
                      Catch::Contains("lies before the events that this trace keeps"));
}

TEST_CASE("a bounded recording of many live blocks writes checkpoints in parts", "[record][keep]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path(), {Keep::Kind::kPeak, 0});
    const uint32_t context = recorder->table().intern_context(record::Context{0, 0, 0, 0, 0, 0});
    constexpr uint64_t kBlocks = 300'000;
    for (uint64_t i = 1; i <= kBlocks; ++i) {
        recorder->record_alloc(AllocEvent{i * 4096, i, i, context, 3, 0}, record::kUnknownTotal);
    }
    for (int round = 0; round < 8; ++round) {
        for (uint64_t i = 1; i <= kBlocks; ++i) {
            recorder->record_free(
                i * 4096, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
            recorder->record_alloc(AllocEvent{i * 4096, i, i, context, 3, 0},
                                   record::kUnknownTotal);
        }
    }
    const auto reader = report::TraceReader::open_file(file.path());
    REQUIRE(reader.checkpoint() != nullptr);
    CHECK(reader.checkpoint()->blocks.size() >= kBlocks - 1);
    const auto result = ask(reader, 0, Measure::kAllocated);
    CHECK(result.chosen.peak_bytes == kBlocks * (kBlocks + 1) / 2);
    CHECK(groups_of(result.blocks).size() == kBlocks);
    CHECK(result.blocks.groups.front().stream == 3);
    CHECK(groups_of(ask(reader, 0, Measure::kAllocated, "end").blocks).size() == kBlocks);
    // Checkpoints follow the live blocks: more than one part, and less of them than of events.
    CHECK(file_bytes(file.path()) > 10 * kMebibyte);
    CHECK(file_bytes(file.path()) < 120 * kMebibyte);
}

TEST_CASE("a checkpoint cut by a kill leaves the one before it", "[record][keep]") {
    const TemporaryFile file;
    RandomProgram program(21);
    program.open(file.path(), {Keep::Kind::kLast, 4 * kMebibyte});
    program.set_tracing(true);
    program.run(250'000);
    Bytes bytes = file.bytes();
    const auto whole = report::TraceReader::from_memory("whole", bytes);
    const auto expected = ask(whole, 0, Measure::kAllocated);
    // The oldest checkpoint loses its last byte of committed records.
    for (size_t n = 0; TraceBuilder::chunk_offset(n) < bytes.size(); ++n) {
        auto* header =
            reinterpret_cast<format::ChunkHeader*>(&bytes[TraceBuilder::chunk_offset(n)]);
        if (header->type == static_cast<uint16_t>(format::ChunkType::kSummary)) {
            header->flags = 0;
            header->committed -= 2;
            break;
        }
    }
    const auto cut = report::TraceReader::from_memory("cut", bytes);
    REQUIRE(cut.checkpoint() != nullptr);
    CHECK(cut.checkpoint()->generation > whole.checkpoint()->generation);
    const auto found = ask(cut, 0, Measure::kAllocated);
    CHECK(found.chosen.peak_bytes == expected.chosen.peak_bytes);
    CHECK(groups_of(found.blocks) == groups_of(expected.blocks));
}

TEST_CASE("a bounded trace without any whole checkpoint says so", "[record][keep]") {
    const TemporaryFile file;
    RandomProgram program(22);
    program.open(file.path(), {Keep::Kind::kPeak, 0});
    program.set_tracing(true);
    program.run(1000);
    Bytes bytes = file.bytes();
    for (size_t n = 0; TraceBuilder::chunk_offset(n) < bytes.size(); ++n) {
        auto* header =
            reinterpret_cast<format::ChunkHeader*>(&bytes[TraceBuilder::chunk_offset(n)]);
        if (header->type == static_cast<uint16_t>(format::ChunkType::kSummary)) {
            header->committed = 0;
        }
    }
    const auto reader = report::TraceReader::from_memory("cut", bytes);
    const auto problems = reader.problems().texts();
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0], Catch::Contains("no checkpoint can be read"));
}

}  // namespace
}  // namespace peakline::test
