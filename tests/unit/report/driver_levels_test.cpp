// Levels of --measure reserved and device. Numbers are worked out by hand.
#include <string>

#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using namespace peakline::report;

// Two segments of torch, of which one goes back, and a library that asks while both are there.
constexpr const char* kTwoSegments = R"(
    start
    sample 1 900000000 1048576000
    driver 1 0x10000000 20971520 stack=a.py:1:first
    segment 0x10000000 20971520
    alloc a 0x10000000 5242880 stack=a.py:1:first
    wait 1048576000
    phase eval
    driver 1 0x20000000 31457280 stack=a.py:2:second
    segment 0x20000000 31457280
    driver 1 0x40000000 4194304 stack=a.py:3:library
    alloc b 0x20000000 1000000 stack=a.py:2:second
    endphase eval
    wait 1048576000
    free b
    endsegment 0x20000000 31457280
    enddriver 1 0x20000000
    driver 1 0x50000000 8388608 stack=a.py:4:late
)";

struct EndedTrace : OpenTrace {
    explicit EndedTrace(const std::string& text) : OpenTrace(text + "\nend\n") {}
};

SelectionText measured(const std::string& measure, const std::string& at = "peak") {
    SelectionText text;
    text.measure = measure;
    text.at = at;
    return text;
}

}  // namespace

TEST_CASE("reserved counts torch's segments, by the line that made each", "[measure]") {
    const EndedTrace trace(kTwoSegments);
    CHECK(trace.rows(measured("reserved")) ==
          "30.00 MB  30.00 MB  30.00 MB  1  a.py:2 (second)\n"
          "20.00 MB  50.00 MB  20.00 MB  1  a.py:1 (first)\n");
    CHECK(trace.rows(measured("reserved", "end")) ==
          "20.00 MB  20.00 MB  20.00 MB  1  a.py:1 (first)\n");
    CHECK(trace.rows(measured("reserved", "0.5")) ==
          "20.00 MB  20.00 MB  20.00 MB  1  a.py:1 (first)\n");
}

TEST_CASE("device counts all memory requested from the driver", "[measure]") {
    const EndedTrace trace(kTwoSegments);
    CHECK(trace.rows(measured("device")) ==
          "30.00 MB  30.00 MB  30.00 MB  1  a.py:2 (second)\n"
          "20.00 MB  50.00 MB  20.00 MB  1  a.py:1 (first)\n"
          "4.000 MB  54.00 MB  4.000 MB  1  a.py:3 (library)\n");
    CHECK(trace.rows(measured("device", "eval")) == trace.rows(measured("device")));
    SelectionText where = measured("device", "end");
    where.where = {"line=a.py:4 (late)"};
    CHECK(trace.rows(where) == "8.000 MB  8.000 MB  8.000 MB  1  a.py:4 (late)\n");
}

TEST_CASE("a part of the run that changes nothing has the level it began with", "[measure]") {
    const EndedTrace trace(R"(
        start
        driver 1 0x10000000 20971520 stack=a.py:1:first
        segment 0x10000000 20971520
        wait 15625000
        alloc a 0x10000000 512 stack=a.py:2:second
        wait 15625000
        endsegment 0x10000000 20971520
        enddriver 1 0x10000000
    )");
    SelectionText text = measured("reserved");
    text.during = "1..3";
    CHECK(trace.rows(text) == "20.00 MB  20.00 MB  20.00 MB  1  a.py:1 (first)\n");
}

TEST_CASE("units of an expandable segment have the lines that mapped them", "[measure]") {
    const EndedTrace trace(R"(
        start
        driver 8 7 20971520 stack=a.py:1:first
        driver 10 0x10000000 20971520 owner=7 stack=a.py:1:first
        map 0x10000000 20971520
        alloc a 0x10000000 5242880 stack=a.py:1:first
        driver 8 8 20971520 stack=a.py:2:second
        driver 10 0x11400000 20971520 owner=8 stack=a.py:2:second
        map 0x11400000 20971520
        unmap 0x10000000 10485760
    )");
    CHECK(trace.rows(measured("reserved")) ==
          "20.00 MB  20.00 MB  20.00 MB  1  a.py:1 (first)\n"
          "20.00 MB  40.00 MB  20.00 MB  1  a.py:2 (second)\n");
    CHECK(trace.rows(measured("reserved", "end")) ==
          "20.00 MB  20.00 MB  20.00 MB  1  a.py:2 (second)\n"
          "10.00 MB  30.00 MB  10.00 MB  1  a.py:1 (first)\n");
    // Addresses of a handle take no memory of their own.
    CHECK(trace.rows(measured("device", "end")) ==
          "20.00 MB  20.00 MB  20.00 MB  1  a.py:1 (first)\n"
          "20.00 MB  40.00 MB  20.00 MB  1  a.py:2 (second)\n");
}

TEST_CASE("memory in a CUDA pool beyond its requests is a row", "[measure]") {
    const EndedTrace trace(R"(
        meta allocator_settings backend:cudaMallocAsync
        start
        driver 7 0x10000 5242880 owner=99 stack=a.py:1:first
        pool 99 33554432 5242880
        sample 2 868000000 1048576000
        alloc a 0x10000 5242880 stack=a.py:1:first
    )");
    for (const char* measure : {"reserved", "device"}) {
        CHECK(trace.rows(measured(measure)) ==
              "27.00 MB  27.00 MB  0 B  0  held by CUDA beyond requests (pools, graphs)\n"
              "5.000 MB  32.00 MB  5.000 MB  1  a.py:1 (first)\n");
    }
}

TEST_CASE("each device has its own level, and all have a sum", "[measure]") {
    const EndedTrace trace(R"(
        start
        driver 1 0x10000000 20971520 stack=a.py:1:first
        segment 0x10000000 20971520
        alloc a 0x10000000 512 stack=a.py:1:first
        driver 1 0x20000000 31457280 dev=1 stack=a.py:2:second
        segment 0x20000000 31457280 dev=1
        alloc b 0x20000000 512 dev=1 stack=a.py:2:second
    )");
    SelectionText text = measured("reserved");
    CHECK(trace.rows(text).rfind("30.00 MB  30.00 MB", 0) == 0);
    text.device = "0";
    CHECK(trace.rows(text).rfind("20.00 MB  20.00 MB", 0) == 0);
    text.device = "all";
    CHECK(trace.rows(text).find("20.00 MB  50.00 MB") != std::string::npos);
}

TEST_CASE("a key that needs lives is refused for memory of the driver", "[measure]") {
    const EndedTrace trace(kTwoSegments);
    SelectionText text = measured("device");
    text.by = "lifetime";
    CHECK_THROWS_WITH(trace.rows(text),
                      Catch::Contains("--measure device does not know --by lifetime"));
    ReportOptions options;
    options.selection = measured("device");
    CHECK_THROWS_WITH(make_summary(trace.reader, options, {}),
                      Catch::Contains("table, timeline and ledger also know"));
}

TEST_CASE("the timeline shows the level of the chosen measure", "[measure]") {
    const EndedTrace trace(kTwoSegments);
    ReportOptions options;
    options.selection = measured("device");
    options.top = 10;
    const std::string text = make_timeline_report(trace.reader, options, {});
    CHECK(text.find("Highest level (device): 54.00 MB at 134.2") != std::string::npos);
    options.selection.measure = "requested";
    CHECK_THROWS_WITH(make_timeline_report(trace.reader, options, {}),
                      Catch::Contains("takes allocated, reserved or device"));
}

}  // namespace peakline::test
