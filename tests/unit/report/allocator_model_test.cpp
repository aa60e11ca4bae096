// The model of torch's allocator on single requests, and its input from a trace.
// tests/e2e/test_whatif.py compares the model with torch itself.
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "report/replay/allocator_replay/prediction.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using namespace peakline::report;

constexpr uint64_t kMib = uint64_t{1} << 20;

VerifiedRun verify(const std::string& text) {
    const OpenTrace trace(TextTrace(text).bytes());
    return verify_run(trace.reader, {}, {});
}

std::string difference(const std::string& text) {
    const VerifiedRun run = verify(text);
    return run.difference ? run.difference->what : std::string();
}

TEST_CASE("requests are rounded as torch rounds them", "[allocator]") {
    const AllocatorSettings plain = parse_allocator_settings("");
    CHECK(plain.round_up(1) == 512);
    CHECK(plain.round_up(513) == 1024);
    const AllocatorSettings quarters = parse_allocator_settings("roundup_power2_divisions:4");
    CHECK(quarters.round_up(1200) == 1536);  // too small for divisions
    CHECK(quarters.round_up(5000) == 5120);
    CHECK(quarters.round_up(9 * kMib) == 10 * kMib);
    CHECK(quarters.round_up(8 * kMib) == 8 * kMib);
    const AllocatorSettings list = parse_allocator_settings(
        "roundup_power2_divisions:[8:4, 32:2,>:1],expandable_segments:True");
    CHECK(list.round_up(5 * kMib) == 5 * kMib);  // the first entry fills what is below it
    CHECK(list.round_up(5 * kMib + 1) == 6 * kMib);
    CHECK(list.round_up(17 * kMib) == 17 * kMib);  // between two entries: none
    CHECK(list.round_up(33 * kMib) == 48 * kMib);
    CHECK(list.round_up(65 * kMib) == 65 * kMib);
    CHECK(list.is_expandable);
}

TEST_CASE("segments have torch's sizes", "[allocator]") {
    const AllocatorSettings plain = parse_allocator_settings("");
    CHECK(plain.segment_bytes(512) == 2 * kMib);
    CHECK(plain.segment_bytes(kMib + 512) == 20 * kMib);
    CHECK(plain.segment_bytes(10 * kMib) == 10 * kMib);
    CHECK(plain.segment_bytes(10 * kMib + 512) == 12 * kMib);
}

TEST_CASE("settings that torch would not take are refused by name", "[allocator]") {
    for (const char* text : {"max_split_size_mb:19",
                             "garbage_collection_threshold:1",
                             "roundup_power2_divisions:3",
                             "expandable_segments:true",
                             "expandable_segments:True,large_segment_size_mb:21",
                             "unknown_key:1",
                             "nothing"}) {
        CHECK_THROWS_AS(parse_allocator_settings(text), TraceError);
    }
}

TEST_CASE("a run that torch would make is verified, another one is not", "[allocator]") {
    const std::string before =
        "meta device.0.total_bytes 1073741824\n"
        "segment 0x10000000 20971520\n"
        "memory 1 1073741824\n"
        "alloc a 0x10000000 5242880\n";
    CHECK(difference(before + "alloc b 0x10500000 5242880").empty());
    CHECK(difference(before + "alloc b 0x10a00000 5242880").find("at another address") !=
          std::string::npos);
    CHECK(difference(before + "segment 0x20000000 20971520\nalloc b 0x20000000 5242880")
              .find("the trace allocates 20971520 bytes, the model does not") != std::string::npos);
    CHECK(difference("alloc a 0x10000000 5242880\n segment 0x10000000 20971520")
              .find("runs out of memory") != std::string::npos);
}

TEST_CASE("the private pool of a segment follows its record", "[allocator]") {
    const std::string routed =
        "call 3 pool=3\n"
        "segment 0x10000000 20971520 pool=3\n"
        "memory 1 1073741824\n"
        "alloc a 0x10000000 5242880\n"
        "call 4 pool=3\n";
    // A request of the default pool does not get the rest of it.
    CHECK(difference(routed + "segment 0x20000000 20971520\nalloc b 0x20000000 5242880").empty());
    // Emptying the cache does not return the segments of a pool before the pool is released.
    CHECK(difference(routed + "free a\ncall 7\ncall 2 pool=3\ncall 7\n"
                              "endsegment 0x10000000 20971520")
              .empty());
    CHECK_FALSE(difference(routed + "free a\ncall 7\nendsegment 0x10000000 20971520").empty());
}

TEST_CASE("in older traces the replay guesses when the cache was emptied", "[allocator]") {
    const VerifiedRun run = verify(
        "segment 0x10000000 31457280\n"
        "alloc a 0x10000000 31457280\n"
        "free a\n"
        "endsegment 0x10000000 31457280\n"
        "segment 0x10000000 20971520\n"
        "alloc b 0x10000000 5242880\n");
    CHECK_FALSE(run.difference.has_value());
    CHECK(run.guessed_empty_events == std::vector<uint64_t>{3});
}

TEST_CASE("a refused request does not use the blocks it waited for", "[allocator]") {
    const std::string waiting =
        "meta device.0.total_bytes 1073741824\n"
        "segment 0x10000000 31457280\n"
        "memory 1 1073741824\n"
        "alloc a 0x10000000 31457280\n"
        "defer a\n";
    const std::string returned = "endsegment 0x10000000 31457280\nsegment 0x20000000 31457280\n";
    // It had come back: the next request gets it.
    CHECK(difference(waiting + "complete a\nalloc b 0x10000000 31457280").empty());
    // The device refused first, and torch did not look again.
    CHECK(difference(waiting + "memory 2 0 req=31457280\ncomplete a\n" + returned +
                     "alloc b 0x20000000 31457280")
              .empty());
    // A fraction refuses without the device: segments go back, and nobody asked for it.
    CHECK(difference(waiting + "complete a\n" + returned + "alloc b 0x20000000 31457280").empty());
    // Here somebody did, before the block came back.
    CHECK_FALSE(difference(waiting + "complete a\nsegment 0x20000000 31457280\n"
                                     "alloc b 0x20000000 31457280")
                    .empty());
}

TEST_CASE("memory that is neither free nor torch's belongs to others", "[allocator]") {
    const VerifiedRun run = verify(
        "meta device.0.total_bytes 1073741824\n"
        "segment 0x10000000 20971520\n"
        "memory 1 1000000000\n"
        "alloc a 0x10000000 5242880\n"
        "memory 3 900000000\n");
    CHECK(run.other_bytes == 1073741824 - 900000000 - 20971520);
}

TEST_CASE("a backend without torch's allocator is named", "[allocator]") {
    CHECK_THROWS_WITH(verify("meta backend pluggable:native\nalloc a 0x10000000 5242880"),
                      Catch::Contains("--backend pluggable:native"));
}

TEST_CASE("memory that others use later is available to torch before", "[allocator]") {
    const OpenTrace trace(TextTrace("meta device.0.total_bytes 104857600\n"
                                    "sample 2 41943040 104857600\n"  // with the segment
                                    "segment 0x10000000 62914560\n"
                                    "memory 1 104857600\n"
                                    "alloc a 0x10000000 62914560\n"
                                    "free a\n"
                                    "call 7\n"
                                    "endsegment 0x10000000 62914560\n"
                                    "sample 1 52428800 104857600\n"
                                    "sample 2 31457280 104857600\n"
                                    "segment 0x20000000 20971520\n"
                                    "alloc b 0x20000000 5242880\n")
                              .bytes());
    const VerifiedRun verified = verify_run(trace.reader, {0}, {});
    REQUIRE_FALSE(verified.difference.has_value());
    CHECK(verified.other_bytes == 50 * kMib);
    PredictionRequest same;
    same.device_bytes = 100 * kMib;
    same.capacity_bytes = same.device_bytes - *verified.other_bytes;
    PredictionRequest smaller = same;
    smaller.device_bytes -= 41 * kMib;
    smaller.capacity_bytes -= 41 * kMib;
    const auto runs = predict(trace.reader, verified, {same, smaller}, {}, {});
    CHECK_FALSE(runs[0].refused.has_value());
    CHECK(runs[0].counts.reserved_peak_bytes == 60 * kMib);
    CHECK(runs[1].refused.has_value());
}

TEST_CASE("several settings and devices are predicted in one pass", "[allocator]") {
    const OpenTrace trace(TextTrace("meta device.0.total_bytes 1073741824\n"
                                    "segment 0x10000000 31457280\n"
                                    "memory 1 1073741824\n"
                                    "alloc a 0x10000000 31457280\n"
                                    "free a\n"
                                    "segment 0x20000000 41943040\n"
                                    "alloc b 0x20000000 41943040 stack=f.py:3:f\n")
                              .bytes());
    const VerifiedRun verified = verify_run(trace.reader, {0}, {});
    REQUIRE_FALSE(verified.difference.has_value());
    PredictionRequest plain;
    plain.device_bytes = plain.capacity_bytes = 100 * kMib;
    PredictionRequest expandable = plain;
    expandable.settings = parse_allocator_settings("expandable_segments:True");
    PredictionRequest tight = plain;
    tight.capacity_bytes = 60 * kMib;
    PredictionRequest small = plain;
    small.capacity_bytes = 39 * kMib;
    const auto runs = predict(trace.reader, verified, {plain, expandable, tight, small}, {}, {});
    CHECK(runs[0].counts.reserved_peak_bytes == 70 * kMib);
    CHECK(runs[1].counts.reserved_peak_bytes == 40 * kMib);
    CHECK(runs[1].counts.device_allocs == 1);  // two units of 20 MiB at once
    CHECK(runs[2].counts.reserved_peak_bytes == 40 * kMib);
    CHECK(runs[2].counts.retries == 1);
    CHECK_FALSE(runs[2].refused.has_value());
    REQUIRE(runs[3].refused.has_value());
    CHECK(runs[3].refused->requested_bytes == 40 * kMib);
    CHECK(runs[3].refused->event == 5);
}

// Blocks of random sizes that come and go, and calls between them.
std::string random_requests(size_t count) {
    std::mt19937 random(7);
    std::string text;
    std::vector<std::string> live;
    for (size_t i = 0; i < count; ++i) {
        const auto pick = [&](uint64_t bound) { return random() % bound; };
        if (live.size() > 400 || (!live.empty() && pick(3) == 0)) {
            std::swap(live[pick(live.size())], live.back());
            text += "free " + live.back() + "\n";
            live.pop_back();
        } else if (pick(2000) == 0) {
            text += "call 7\n";
        } else {
            live.push_back("b" + std::to_string(i));
            const uint64_t bytes = 1 + (pick(3) == 0 ? pick(40 * kMib) : pick(kMib));
            text += "alloc " + live.back() + " " + std::to_string((i + 1) * 64 * kMib) + " " +
                    std::to_string(bytes) + "\n";
        }
    }
    return text;
}

using Counted = std::array<uint64_t, 7>;

Counted counted(const Prediction& one) {
    const ModelCounts& counts = one.counts;
    return {counts.reserved_bytes,
            counts.reserved_peak_bytes,
            counts.device_allocs,
            counts.device_frees,
            counts.retries,
            counts.out_of_memory,
            one.refused ? one.refused->event : 0};
}

TEST_CASE("models on several threads give the same result as on one", "[allocator]") {
    const OpenTrace trace(TextTrace(random_requests(100'000)).bytes());
    VerifiedRun verified;
    verified.rules = allocator_rules().front();
    std::vector<PredictionRequest> requests;
    for (const char* settings : {"",
                                 "expandable_segments:True",
                                 "max_split_size_mb:64",
                                 "roundup_power2_divisions:4",
                                 "garbage_collection_threshold:0.8"}) {
        for (const uint64_t bytes : {4000 * kMib, 8000 * kMib, 20'000 * kMib}) {
            PredictionRequest request;
            request.settings = parse_allocator_settings(settings);
            request.device_bytes = request.capacity_bytes = bytes;
            requests.push_back(request);
        }
    }
    const auto here = predict(trace.reader, verified, requests, {}, {}, Threading::kHere);
    const auto spread = predict(trace.reader, verified, requests, {}, {}, Threading::kAlways);
    size_t refused_count = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
        CHECK(counted(here[i]) == counted(spread[i]));
        CHECK(here[i].counts.reserved_peak_bytes > 1000 * kMib);
        refused_count += here[i].refused ? 1 : 0;
    }
    CHECK(refused_count > 0);
    CHECK(refused_count < requests.size());
}

struct NoListener : AllocatorListener {
    void on_request(const RecordedRequest&) override {}
    void on_refused(const RecordedRequest&, uint64_t) override {}
    void on_free_requested(uint64_t) override {}
    void on_free_completed(uint64_t) override {}
    void on_segment(const SegmentChange&, EventTime) override {}
    void on_call(const format::AllocatorCall&) override {}
    void on_settings(const AllocatorSettings&) override {}
    void on_memory(const format::DeviceMemory&) override {}
};
struct InOrder : NoListener {
    uint64_t next = 0;
    bool is_right = true;
    void on_freed(uint64_t ordinal) override { is_right = is_right && ordinal == next++; }
};
struct Throws : NoListener {
    void on_freed(uint64_t ordinal) override {
        if (ordinal == 50'000) {
            throw TraceError("no room");
        }
    }
};

TEST_CASE("every listener hears everything in order, on any number of threads", "[allocator]") {
    for (const Threading threading : {Threading::kHere, Threading::kAlways}) {
        InOrder one;
        InOrder two;
        InOrder three;
        ListenerThreads threads({&one, &two, &three}, threading, 0);
        for (uint64_t i = 0; i < 100'000; ++i) {
            threads.on_freed(i);
        }
        threads.finish();
        for (const InOrder* const each : {&one, &two, &three}) {
            CHECK(each->is_right);
            CHECK(each->next == 100'000);
        }
    }
}

TEST_CASE("an exception of a listener on its thread ends the pass", "[allocator]") {
    for (const Threading threading : {Threading::kHere, Threading::kAlways}) {
        InOrder one;
        Throws two;
        const auto pass = [&] {
            ListenerThreads threads({&one, &two}, threading, 0);
            for (uint64_t i = 0; i < 100'000; ++i) {
                threads.on_freed(i);
            }
            threads.finish();
        };
        CHECK_THROWS_WITH(pass(), "no room");
    }
}

}  // namespace
}  // namespace peakline::test
