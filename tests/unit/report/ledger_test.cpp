// The use of the whole device. Numbers are worked out by hand.
#include "report/views/ledger/ledger.h"

#include <string>

#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using namespace peakline::report;

Ledger ledger_of(const OpenTrace& trace, const std::string& at = "end") {
    SelectionText text;
    text.at = at;
    const Selection selection = parse_selection(text);
    StackLookup stacks(trace.reader.definitions(), selection.frames);
    return make_ledger(trace.reader, selection, stacks, {});
}

int64_t bytes_of(const Ledger& ledger, const std::string& name) {
    int64_t bytes = 0;
    for (const LedgerPart& part : ledger.parts) {
        bytes += part.name.find(name) != std::string::npos ? part.bytes : 0;
    }
    return bytes;
}

int64_t bytes_of(const Ledger& ledger, PartKind kind) {
    int64_t bytes = 0;
    for (const LedgerPart& part : ledger.parts) {
        bytes += part.kind == kind ? part.bytes : 0;
    }
    return bytes;
}

int64_t sum_of(const Ledger& ledger) {
    int64_t bytes = ledger.unexplained_bytes;
    for (const LedgerPart& part : ledger.parts) {
        bytes += part.bytes;
    }
    return bytes;
}

}  // namespace

TEST_CASE("a segment of torch and the driver's memory under it count once", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 1 0x10000 20000000
        sample 2 880000000 1000000000
        segment 0x10000 20000000
        alloc a 0x10000 5000000 stack=a.py:1:f
        driver 1 0x9000000 3000000
        sample 2 877000000 1000000000
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(ledger.used_bytes == 123'000'000);
    CHECK(bytes_of(ledger, "torch live") == 5'000'000);
    CHECK(bytes_of(ledger, "torch cached") == 15'000'000);
    CHECK(bytes_of(ledger, PartKind::kLibrary) == 3'000'000);
    CHECK(bytes_of(ledger, PartKind::kContext) == 100'000'000);
    CHECK(ledger.unexplained_bytes == 0);
    // Before the segment was reported its memory is a library's.
    CHECK(bytes_of(ledger_of(trace, "peak"), "torch live") == 5'000'000);
}

TEST_CASE("memory of another process is listed, and counts there", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 1 0x10000 20000000 stack=a.py:1:f
        sample 2 880000000 1000000000
        segment 0x10000 20000000
        shared 1 0x10000 aa role=owned
        driver 11 0x9000000 30000000 stack=a.py:2:g
        shared 11 0x9000000 bb role=opened
        driver 11 0xc000000 30000000 stack=a.py:4:g
        shared 11 0xc000000 bb role=opened
        driver 11 7 0 stack=a.py:3:h
        shared 11 7
        driver 10 0xa000000 4000000 owner=7 stack=a.py:3:h
        driver 11 0xb000000 5000000 stack=a.py:2:g
        shared 11 0xb000000 cc role=opened
        enddriver 11 0xb000000
        alloc a 0x10000 5000000 stack=a.py:1:f
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(ledger.used_bytes == 120'000'000);
    CHECK(ledger.unexplained_bytes == 0);
    REQUIRE(ledger.shared.size() == 3);
    CHECK(ledger.shared[0].kind == PartKind::kOpened);
    CHECK(ledger.shared[0].bytes == 30'000'000);
    CHECK(ledger.shared[0].number == "bb");
    CHECK(ledger.shared[0].line.label.frames.at(0).line == 2);
    CHECK(ledger.shared[1].kind == PartKind::kExported);
    CHECK(ledger.shared[1].bytes == 20'000'000);
    CHECK(ledger.shared[1].number == "aa");
    CHECK(ledger.shared[1].line.label.frames.at(0).line == 1);
    // Memory without a number; its bytes are those of its mapping.
    CHECK(ledger.shared[2].kind == PartKind::kOpened);
    CHECK(ledger.shared[2].bytes == 4'000'000);
    CHECK(ledger.shared[2].number.empty());
}

TEST_CASE("each change of the device's level is explained by the record before its sample",
          "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        sample 5 890000000 1000000000
        sample 7 885000000 1000000000
        sample 1 884000000 1000000000
        driver 1 0x10000 1000
        sample 2 882000000 1000000000
        alloc a 0x10000 1000 stack=a.py:1:f
        sample 2 877000000 1000000000
        sample 3 897000000 1000000000
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(bytes_of(ledger, "code that was loaded") == 10'000'000);
    CHECK(bytes_of(ledger, "instances of graphs") == 5'000'000);
    CHECK(bytes_of(ledger, "rounding") == 2'000'000 - 1000);
    // 1 MB between calls and 5 MB at a request of 0 bytes; then 20 MB disappeared.
    CHECK(bytes_of(ledger, "grown between calls") == 6'000'000);
    CHECK(ledger.unexplained_bytes == -20'000'000);
    CHECK(sum_of(ledger) == ledger.used_bytes);
    CHECK(ledger.used_bytes == 103'000'000);
}

TEST_CASE("growth without a record appears at the next sample only", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 1 0x10000 20000000
        sample 2 880000000 1000000000
        segment 0x10000 20000000
        alloc a 0x10000 5000000 stack=a.py:1:f
        sample 1 850000000 1000000000
        sample 1 840000000 1000000000
    )");
    CHECK(ledger_of(trace, "peak").used_bytes == 120'000'000);
    CHECK(ledger_of(trace, "peak").next_growth_bytes == 30'000'000);
    CHECK(ledger_of(trace, "end").used_bytes == 160'000'000);
    CHECK(ledger_of(trace, "end").next_growth_bytes == 0);
}

TEST_CASE("a segment with returned memory holds nothing", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 8 7 20000000
        driver 10 0x10000 20000000 owner=7
        sample 2 880000000 1000000000
        map 0x10000 20000000
        alloc a 0x10000 5000000 stack=a.py:1:f
        enddriver 10 0x10000
        enddriver 8 7
        sample 3 900000000 1000000000
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(ledger.used_bytes == 100'000'000);
    CHECK(bytes_of(ledger, PartKind::kTorch) == 0);
    CHECK(bytes_of(ledger, "without memory") == -20'000'000);
    CHECK(bytes_of(ledger, PartKind::kLibrary) == 0);
    CHECK(ledger.unexplained_bytes == 0);
}

TEST_CASE("physical memory that is mapped into a segment is the segment's", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 8 7 20000000
        driver 10 0x10000 20000000 owner=7
        sample 2 880000000 1000000000
        map 0x10000 20000000
        driver 8 8 4000000
        sample 2 876000000 1000000000
        alloc a 0x10000 5000000 stack=a.py:1:f
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(bytes_of(ledger, PartKind::kTorch) == 20'000'000);
    CHECK(bytes_of(ledger, PartKind::kLibrary) == 4'000'000);
    CHECK(ledger.unexplained_bytes == 0);
}

TEST_CASE("a segment from before the recording is torch's, not the context's", "[ledger]") {
    const OpenTrace trace(R"(
        start
        segment 0x10000 20000000
        alloc a 0x10000 5000000 stack=a.py:1:f
        sample 1 900000000 1000000000
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(bytes_of(ledger, PartKind::kTorch) == 20'000'000);
    CHECK(bytes_of(ledger, PartKind::kContext) == 80'000'000);
    CHECK(ledger.unexplained_bytes == 0);
}

TEST_CASE("a pool has its requests, and a rest", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 7 0x10000 5000000 owner=99
        pool 99 32000000 5000000
        sample 2 868000000 1000000000
        alloc a 0x10000 5000000 stack=a.py:1:f
        driver 7 0x900000 1000000 owner=99
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(ledger.used_bytes == 132'000'000);
    CHECK(bytes_of(ledger, "torch live") == 5'000'000);
    CHECK(bytes_of(ledger, "torch cached") == 0);
    CHECK(bytes_of(ledger, PartKind::kLibrary) == 1'000'000);
    CHECK(bytes_of(ledger, PartKind::kPool) == 26'000'000);
    CHECK(ledger.unexplained_bytes == 0);
}

TEST_CASE("without torch the blocks of the driver are libraries'", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 1 0x10000 5000000 flags=1
        alloc a 0x10000 5000000 stack=a.py:1:f
        sample 2 895000000 1000000000
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(bytes_of(ledger, PartKind::kTorch) == 0);
    CHECK(bytes_of(ledger, PartKind::kLibrary) == 5'000'000);
}

TEST_CASE("memory of the host is listed outside of the device", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 5 0x7000 4096 stack=a.py:1:f
        driver 4 0x8000 8192
        driver 6 0x9000 100
        enddriver 6 0x9000
        alloc a 0x10000 512 stack=a.py:1:f
    )");
    const Ledger ledger = ledger_of(trace);
    REQUIRE(ledger.beside.size() == 2);
    CHECK(ledger.beside[0].kind == PartKind::kPinned);
    CHECK(ledger.beside[0].bytes == 4096);
    CHECK(ledger.beside[1].kind == PartKind::kManaged);
}

TEST_CASE("torch's cached memory is shown by kind of segment and pool", "[ledger]") {
    // Small segments have 2 MiB; graph pools have even numbers, those of the program odd ones.
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 1 0x10000000 20971520
        segment 0x10000000 20971520
        driver 1 0x20000000 2097152
        segment 0x20000000 2097152
        driver 1 0x30000000 4194304
        segment 0x30000000 4194304 pool=4
        driver 1 0x40000000 8388608
        segment 0x40000000 8388608 pool=7
        driver 8 9 20971520
        driver 10 0x50000000 20971520 owner=9
        map 0x50000000 20971520
        sample 2 843376128 1000000000
        alloc a 0x10000000 1000000 stack=a.py:1:f
        alloc b 0x30000000 4194304 stack=a.py:1:f
        alloc c 0x10100000 500000 stack=a.py:1:f
        defer c
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(bytes_of(ledger, "torch live") == 1'000'000 + 4'194'304);
    CHECK(bytes_of(ledger, "torch cached, large segments") ==
          20'971'520 - 1'000'000 + 8'388'608 + 20'971'520);
    CHECK(bytes_of(ledger, "torch cached, large segments, expandable") == 20'971'520);
    CHECK(bytes_of(ledger, "torch cached, small segments") == 2'097'152);
    CHECK(bytes_of(ledger, "large segments of the program's pool 3") == 8'388'608);
    CHECK(bytes_of(ledger, "graph pool 2") == 0);
    CHECK(bytes_of(ledger, PartKind::kTorch) == 56'623'104);
}

TEST_CASE("memory of NCCL is shown by communicator", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 1 0x10000 1000000
        madefor communicator_1
        driver 1 0x200000 2000000
        driver 1 0x400000 4000000
        madefor communicator_2
        sample 2 893000000 1000000000
        alloc a 0x10000000 512 stack=a.py:1:f
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK(bytes_of(ledger, "communicator_1") == 1'000'000);
    CHECK(bytes_of(ledger, "communicator_2") == 4'000'000);
    CHECK(bytes_of(ledger, PartKind::kLibrary) == 7'000'000);
}

TEST_CASE("memory of other processes comes from NVML", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 700000000 1000000000
        driver 1 0x10000 20000000
        sample 2 680000000 1000000000
        segment 0x10000 20000000
        alloc a 0x10000 5000000 stack=a.py:1:f
        wait 7812500
        processes 120000000 200000000
        sample 10 680000000 1000000000
        wait 7812500
        processes 120000000 350000000
        sample 10 530000000 1000000000
        wait 7812500
        processes 120000000 350000000
        sample 10 500000000 1000000000
    )");
    // The first query comes later: the earlier value is assumed to be the same.
    const Ledger before = ledger_of(trace, "peak");
    CHECK(before.knows_others);
    CHECK(bytes_of(before, PartKind::kOthers) == 200'000'000);
    CHECK(bytes_of(before, PartKind::kContext) == 100'000'000);
    CHECK(before.unexplained_bytes == 0);
    const Ledger later = ledger_of(trace, "2.5");
    CHECK(bytes_of(later, PartKind::kOthers) == 350'000'000);
    CHECK(bytes_of(later, PartKind::kContext) == 100'000'000);
    CHECK(later.unexplained_bytes == 0);
    // Growth belongs to this process if the others did not grow.
    const Ledger end = ledger_of(trace);
    CHECK(bytes_of(end, "grown between calls") == 30'000'000);
    CHECK(sum_of(end) == end.used_bytes);
}

TEST_CASE("other processes that came after the first sample had nothing before", "[ledger]") {
    const OpenTrace trace(R"(
        start
        sample 1 900000000 1000000000
        driver 1 0x10000 20000000
        sample 2 880000000 1000000000
        segment 0x10000 20000000
        alloc a 0x10000 5000000 stack=a.py:1:f
        wait 7812500
        sample 2 180000000 1000000000
        processes 120000000 700000000
        sample 10 180000000 1000000000
    )");
    const Ledger before = ledger_of(trace, "peak");
    CHECK(before.used_bytes == 120'000'000);
    CHECK(bytes_of(before, PartKind::kOthers) == 0);
    CHECK(bytes_of(before, PartKind::kContext) == 100'000'000);
    CHECK(before.next_growth_bytes == 0);
    CHECK(before.unexplained_bytes == 0);
    const Ledger end = ledger_of(trace);
    CHECK(bytes_of(end, PartKind::kOthers) == 700'000'000);
    CHECK(bytes_of(end, PartKind::kContext) == 100'000'000);
    CHECK(end.unexplained_bytes == 0);
    CHECK(sum_of(end) == end.used_bytes);
}

TEST_CASE("if NVML does not list this process, memory of others is unknown", "[ledger]") {
    const OpenTrace trace(R"(
        start
        processes 0 320000000
        sample 1 700000000 1000000000
        alloc a 0x10000 512 stack=a.py:1:f
    )");
    const Ledger ledger = ledger_of(trace);
    CHECK_FALSE(ledger.knows_others);
    CHECK(bytes_of(ledger, PartKind::kOthers) == 0);
    CHECK(bytes_of(ledger, "context, and what others hold") == 300'000'000);
}

TEST_CASE("a trace without samples of the driver has no ledger", "[ledger]") {
    const OpenTrace trace("start\nalloc a 0x1000 512 stack=a.py:1:f\n");
    CHECK_THROWS_WITH(ledger_of(trace),
                      "test.peak: this trace does not record the use of "
                      "device 0: record it again with this peakline");
}

}  // namespace peakline::test
