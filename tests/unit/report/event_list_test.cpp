// Every event in order, and parts of a run.
#include <map>
#include <random>
#include <string>
#include <vector>

#include "report/replay/phases/find_ranges.h"
#include "report/reports/report.h"
#include "report/views/events/events.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::EventKind;
using report::kNoNumber;

struct Row {
    std::string kind;
    uint64_t block;
    uint64_t bytes;
    uint64_t level;
    uint64_t reserved;
};

std::vector<Row> rows_of(const OpenTrace& trace,
                         const std::string& during = {},
                         const std::string& device = {}) {
    report::SelectionText text;
    text.during = during;
    text.device = device;
    const report::Selection selection = report::parse_selection(text);
    report::StackLookup stacks(trace.reader.definitions(), selection.frames);
    report::EventList list(trace.reader, selection, stacks);
    std::vector<Row> rows;
    while (true) {
        const report::EventColumns& batch = list.next();
        for (size_t i = 0; i < batch.size(); ++i) {
            rows.push_back({report::kEventKindNames[batch.kind[i]],
                            batch.block[i],
                            batch.bytes[i],
                            batch.allocated_bytes[i],
                            batch.reserved_bytes[i]});
        }
        if (batch.size() == 0) {
            return rows;
        }
    }
}

std::string texts_of(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows) {
        text += row.kind;
        text += row.bytes != kNoNumber ? " " + std::to_string(row.bytes) : "";
        text += row.level != kNoNumber ? " " + std::to_string(row.level) : "";
        text += row.reserved != kNoNumber ? "/" + std::to_string(row.reserved) : "";
        text += "\n";
    }
    return text;
}

TEST_CASE("every event is listed with the levels after it") {
    const OpenTrace trace(
        "start\n segment 0x100000 4096\n alloc a 0x100000 1024\n alloc b 0x100400 512 dev=1\n"
        "defer a\n phase warm\n note here\n complete a\n endphase warm\n free b\n"
        "endsegment 0x100000 4096\n stop\n end\n");
    CHECK(texts_of(rows_of(trace)) ==
          "tracing_started\nsegment_alloc 4096 0/4096\nalloc 1024 1024/4096\nalloc 512 512\n"
          "free_requested 1024 0/4096\nphase_begin\nnote\nfree_completed 1024 0/4096\n"
          "phase_end\nfree 512 0\nsegment_free 4096 0/0\ntracing_stopped\n");
    CHECK(texts_of(rows_of(trace, "", "1")) ==
          "tracing_started\nalloc 512 512\nphase_begin\nnote\nphase_end\nfree 512 0\n"
          "tracing_stopped\n");
}

TEST_CASE("a part of a run has the events of the phase, with the levels of the whole run") {
    const OpenTrace trace(
        "start\n alloc a 0x1000 100 req=100\n phase warm\n alloc b 0x2000 50\n free a\n"
        "endphase warm\n free b\n end\n");
    CHECK(texts_of(rows_of(trace, "warm")) == "phase_begin\nalloc 50 150\nfree 100 50\n");
    CHECK_THROWS_WITH(rows_of(trace, "cold"), Catch::Contains("phase 'cold' is not in this trace"));
}

// Against sums over a random run.
TEST_CASE("levels of a random run are sums") {
    std::mt19937 random(7);
    for (int run = 0; run < 20; ++run) {
        std::string text = "start\n";
        std::vector<std::pair<std::string, uint64_t>> live;
        std::vector<std::string> expected = {"tracing_started"};
        uint64_t level = 0;
        for (int event = 0; event < 300; ++event) {
            if (live.empty() || random() % 5 < 3) {
                const uint64_t bytes = 512 * (1 + random() % 9);
                const std::string name = "b" + std::to_string(event);
                text += "alloc " + name + " " + std::to_string(4096 * (event + 1)) + " " +
                        std::to_string(bytes) + (random() % 2 != 0 ? " class\n" : "\n");
                live.emplace_back(name, bytes);
                level += bytes;
                expected.push_back("alloc " + std::to_string(bytes) + " " + std::to_string(level));
            } else {
                const size_t one = random() % live.size();
                text += "free " + live[one].first + "\n";
                level -= live[one].second;
                expected.push_back("free " + std::to_string(live[one].second) + " " +
                                   std::to_string(level));
                live.erase(live.begin() + static_cast<int64_t>(one));
            }
            text += random() % 50 == 0 ? "chunk\n" : "";
        }
        std::string all;
        for (const std::string& line : expected) {
            all += line + "\n";
        }
        REQUIRE(texts_of(rows_of(OpenTrace(text + "end\n"))) == all);
    }
}

TEST_CASE("ranges of times are read") {
    CHECK(*report::parse_time_range("2..3.5s") == std::pair(2.0, 3.5));
    CHECK(report::parse_time_range("2s..")->first == 2.0);
    CHECK(report::parse_time_range("..4")->second == 4.0);
    for (const char* text : {"..", "2", "a..b", "2..3x", "forward", "-1..2"}) {
        CHECK(!report::parse_time_range(text).has_value());
    }
}

TEST_CASE("the peak between two times is that of a replay by hand") {
    // 1000 ticks of one microsecond are a millisecond.
    const OpenTrace trace(
        "start\n alloc a 0x1000 1000 stack=m.py:1:f\n wait 1000\n free a\n"
        "alloc b 0x2000 400 stack=m.py:2:f\n wait 1000\n alloc c 0x3000 100 stack=m.py:3:f\n "
        "end\n");
    const double tick = trace.reader.seconds(1);
    const std::string half = std::to_string(1500 * tick);
    CHECK(trace.replay(half + "..").blocks.level_bytes == 500);
    CHECK(trace.replay(".." + half).blocks.level_bytes == 1000);
}

TEST_CASE("the blocks that lived in a part of the run are listed") {
    const OpenTrace trace(
        "start\n alloc gone 0x1000 512 stack=m.py:1:f\n free gone\n"
        "alloc held 0x2000 1024 stack=m.py:2:f\n phase warm\n alloc short 0x3000 2048 "
        "stack=m.py:3:f\n free short\n alloc later 0x4000 4096 stack=m.py:4:f\n endphase warm\n"
        "alloc after 0x5000 8192 stack=m.py:5:f\n end\n");
    report::ReportOptions options;
    options.selection.during = "warm";
    const std::string text = report_text(report::make_tensors, trace.reader, options);
    CHECK_THAT(text, Catch::Contains("Live at some time during warm: 7.000 KB in 3 blocks"));
    CHECK_THAT(text, Catch::Contains("m.py:2") && Catch::Contains("m.py:3"));
    CHECK_THAT(text, Catch::Contains("m.py:4"));
    CHECK_THAT(text, !Catch::Contains("m.py:1") && !Catch::Contains("m.py:5"));
}

TEST_CASE("a moment and a part of the run cannot be combined") {
    report::SelectionText text;
    text.at = "end";
    text.during = "forward";
    CHECK_THROWS_WITH(report::parse_selection(text), Catch::Contains("give one of them"));
}

}  // namespace
}  // namespace peakline::test
