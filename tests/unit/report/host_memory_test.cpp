// Memory of the host stands beside the GPUs: devices of its own, in no sum.
#include <string>

#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using Catch::Contains;

constexpr char kGpusAndHost[] = R"(
start
alloc a 0x1000 1000 dev=0 stack=train.py:1:main
alloc p 0x2000 5000000 dev=64 stack=train.py:2:main
alloc c 0x3000 9000000 dev=65 stack=train.py:3:main class
alloc b 0x4000 200 dev=1 stack=train.py:4:main
free c
alloc d 0x5000 300 dev=65 stack=train.py:5:main
)";

constexpr char kHostOnly[] = R"(
start
alloc p 0x2000 400 dev=64 stack=train.py:2:main
alloc c 0x3000 700 dev=65 stack=train.py:3:main
alloc d 0x4000 100 dev=65 stack=train.py:4:main
free d
)";

std::string made(report::MakeReport make,
                 const OpenTrace& trace,
                 const std::string& device,
                 report::OutputForm form = report::OutputForm::kDocument) {
    report::ReportOptions options;
    options.selection.device = device;
    options.form = form;
    return report_text(make, trace.reader, options);
}

std::string json(const char* command, const OpenTrace& trace, const std::string& device) {
    return made(report::find_report(command), trace, device, report::OutputForm::kJson);
}

}  // namespace

TEST_CASE("the default device is the GPU with the highest peak, even if the host holds more",
          "[report]") {
    const OpenTrace trace(kGpusAndHost);
    const report::ReplayResult result = trace.replay();
    CHECK(result.chosen.device == 0);
    CHECK(result.chosen.peak_bytes == 1000);
    CHECK(result.devices.size() == 4);
}

TEST_CASE("the sum of all devices includes only GPUs", "[report]") {
    const OpenTrace trace(kGpusAndHost);
    const report::ReplayResult sum = trace.replay("peak", "all");
    CHECK(sum.chosen.peak_bytes == 1200);
    CHECK(sum.blocks.groups.size() == 2);
    CHECK(trace.replay("end", "all").blocks.level_bytes == 1200);
    for (const char* command : {"table", "phases", "leaks", "layers", "advise"}) {
        CHECK_THAT(json(command, trace, "all"), Contains("\"device\": \"all\""));
        CHECK_THAT(json(command, trace, "all"), Contains("\"peak_bytes\": 1200"));
    }
    CHECK_THAT(json("timeline", trace, "all"), Contains("\"peak_bytes\": 1200"));
}

TEST_CASE("memory of the host is selected and shown by its name", "[report]") {
    const OpenTrace trace(kGpusAndHost);
    CHECK(trace.replay("peak", "cpu").chosen.peak_bytes == 9000000);
    CHECK(trace.replay("end", "cpu").blocks.level_bytes == 300);
    CHECK(trace.replay("peak", "pinned").chosen.peak_bytes == 5000000);
    for (const char* command : {"table", "phases", "tensors", "layers", "leaks", "advise"}) {
        CHECK_THAT(json(command, trace, "pinned"), Contains("\"device\": \"pinned\""));
    }
    CHECK_THAT(json("timeline", trace, "cpu"), Contains("\"peak_bytes\": 9000000"));
    CHECK_THAT(made(report::make_table, trace, "cpu"),
               Contains("Device cpu shown; peaks: device 0 1000 B, device 1 200 B, pinned 4.768 "
                        "MB, cpu 8.583 MB\n"));
    report::SelectionText by;
    by.by = "stream";
    by.device = "cpu";
    CHECK_THAT(trace.rows(by), Contains("  cpu\n"));
}

TEST_CASE("a table of a GPU mentions large memory of the host", "[report]") {
    CHECK_THAT(made(report::make_table, OpenTrace(kGpusAndHost), "0"),
               Contains("Device 0 shown; peaks: device 0 1000 B, device 1 200 B, pinned"));
    const OpenTrace little(R"(
start
alloc a 0x1000 1000 stack=train.py:1:main
alloc p 0x2000 1048575 dev=64 stack=train.py:2:main
)");
    CHECK_THAT(made(report::make_table, little, ""), !Contains("shown"));
}

TEST_CASE("without memory of a GPU the host is shown, also for all devices", "[report]") {
    const OpenTrace trace(kHostOnly);
    CHECK_FALSE(trace.reader.has_gpu_memory());
    for (const char* device : {"", "all"}) {
        CHECK_THAT(json("table", trace, device), Contains("\"device\": \"cpu\""));
        CHECK_THAT(json("timeline", trace, device), Contains("\"peak_bytes\": 800"));
    }
}

TEST_CASE("options without a meaning for the host are refused", "[report]") {
    const OpenTrace trace(kGpusAndHost);
    for (const char* command : {"ledger", "map", "fragmentation", "whatif"}) {
        CHECK_THROWS_WITH(made(report::find_report(command), trace, "cpu"),
                          Contains("is about a GPU"));
    }
    CHECK_THROWS_WITH(trace.replay("peak", "64"), Contains("pinned or cpu"));
    CHECK_THROWS_WITH(trace.replay("peak", "gpu"), Contains("pinned or cpu"));
    const OpenTrace without("start\nalloc a 0x1000 8 stack=train.py:1:main\n");
    CHECK_THROWS_WITH(without.replay("peak", "cpu"), Contains("peakline run --cpu"));
}

}  // namespace peakline::test
