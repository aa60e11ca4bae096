// The report reads the recorder's traces: levels, peaks, live blocks and totals of random programs,
// compared with the recorder's own answers and with a model that copies everything at each new
// maximum.
#include <string>

#include "random_program.h"
#include "report/reports/report.h"
#include "tests/unit/report/plain_text.h"

namespace peakline::test {
namespace {

std::string table_of(const report::TraceReader& reader,
                     uint32_t device,
                     Measure measure,
                     const char* at) {
    report::ReportOptions options;
    options.selection = selection_of(device, measure, at);
    return plain_text(report::make_table(reader, options, {}));
}

void check_everything(const std::string& path, RandomProgram& program, bool has_summary) {
    const auto reader = report::TraceReader::open_file(path);
    record::MemoryTarget image;
    REQUIRE(program.recorder().write_summary(&image, ""));
    const auto summary = report::TraceReader::from_memory("summary", {image.data(), image.size()});
    const auto devices = report::replay(reader, {}).devices;
    for (const report::DeviceTotals& totals : devices) {
        for (const Measure measure : kMeasures) {
            check_view(reader, program, totals.device, measure);
            for (const char* at : {"peak", "end"}) {
                const std::string table = table_of(reader, totals.device, measure, at);
                REQUIRE((!has_summary || table == table_of(summary, totals.device, measure, at)));
            }
        }
    }
}

TEST_CASE("the report finds in the file what the recorder found in the process", "[record]") {
    for (uint32_t seed = 1; seed <= 60; ++seed) {
        INFO("seed " << seed);
        const TemporaryFile file;
        RandomProgram program(seed);
        program.open(file.path());
        program.run(1 + static_cast<int>(seed) * 5);
        program.set_tracing(true);
        program.run(200);
        program.recorder().close_trace();
        check_everything(file.path(), program, true);
        const auto reader = report::TraceReader::open_file(file.path());
        REQUIRE(report::replay(reader, {}).health.problems.texts().empty());
    }
}

TEST_CASE("a file opened in the middle begins with what is live", "[record]") {
    for (uint32_t seed = 100; seed <= 140; ++seed) {
        INFO("seed " << seed);
        const TemporaryFile file;
        RandomProgram program(seed);
        program.set_tracing(seed % 2 == 0);
        program.run(200);
        program.open(file.path());
        program.set_tracing(true);
        program.run(200);
        program.recorder().close_trace();
        check_everything(file.path(), program, true);
    }
}

TEST_CASE("a recorder that is never closed leaves a file with everything in it", "[record]") {
    const TemporaryFile file;
    RandomProgram program(7);
    program.set_tracing(true);
    program.open(file.path());
    program.run(5000);
    // Read while the recorder still has it open: the bytes a killed process leaves.
    check_everything(file.path(), program, false);
    const auto reader = report::TraceReader::open_file(file.path());
    const auto problems = report::replay(reader, {}).health.problems.texts();
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0],
               Catch::Contains("still being written by process " + std::to_string(getpid())));
}

TEST_CASE("a recording that replaces a file leaves the one that still writes it alone",
          "[record]") {
    const TemporaryFile file;
    RandomProgram first(8);
    first.set_tracing(true);
    first.open(file.path());
    first.run(200);
    REQUIRE(first.recorder().trace_loss() == record::FileTarget::Loss::kNone);
    RandomProgram second(9);
    second.set_tracing(true);
    second.open(file.path());
    // Far more than the chunk that is mapped: a file cut under it would be fatal here.
    first.run(20000);
    second.run(500);
    CHECK(first.recorder().trace_loss() == record::FileTarget::Loss::kMoved);
    CHECK(second.recorder().trace_loss() == record::FileTarget::Loss::kNone);
    second.recorder().close_trace();
    first.recorder().close_trace();
    check_everything(file.path(), second, true);
}

TEST_CASE("a file that cannot be made leaves the old one as it was", "[record]") {
    const TemporaryFile file;
    std::ofstream(file.path()) << "an older trace";
    // The new file is made under this name first.
    const std::string beside = file.path() + ("." + std::to_string(getpid()) + ".part");
    REQUIRE(mkdir(beside.c_str(), 0755) == 0);
    const auto recorder = new_recorder();
    CHECK(open_trace(*recorder, file.path()) != 0);
    CHECK(rmdir(beside.c_str()) == 0);
    const Bytes kept = file.bytes();
    CHECK(std::string(kept.begin(), kept.end()) == "an older trace");
}

}  // namespace
}  // namespace peakline::test
