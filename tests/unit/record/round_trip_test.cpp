// What the recorder writes, the report reads: levels, peaks, live blocks and totals of random
// programs, compared with the recorder's own answers and with a model that copies everything at
// each new maximum.
#include <string>

#include "random_program.h"
#include "report/render/report.h"

namespace peakline::test {
namespace {

std::string table_of(const report::TraceReader& reader,
                     uint32_t device,
                     Measure measure,
                     const char* at) {
    report::ReportOptions options;
    options.selection = selection_of(device, measure, at);
    return report::make_table(reader, options);
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
    CHECK_THAT(problems[0], Catch::Contains("ended without a clean end (killed?)"));
}

}  // namespace
}  // namespace peakline::test
