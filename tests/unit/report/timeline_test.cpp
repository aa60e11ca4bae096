// The timeline from chunk headers alone, against the decoded one and a count by hand.
#include "report/replay/totals/timeline.h"

#include <algorithm>
#include <random>

#include "../record/random_program.h"
#include "report_testing.h"

namespace peakline::test {
namespace {

struct Written {
    TemporaryFile file;
    uint64_t peak_bytes = 0;
    uint64_t last_bytes = 0;
};

// Levels that rise and fall by a lot, over about 20 chunks and two devices.
void write_waves(Written& written) {
    const auto recorder = start_recording(written.file.path());
    std::mt19937_64 random(3);
    std::vector<std::pair<uint64_t, uint64_t>> live;
    uint64_t level = 0;
    for (uint64_t i = 1; i <= 600'000; ++i) {
        const uint64_t wanted = 1000 + 900 * ((i / 50'000) % 3);
        if (live.size() < wanted || (random() & 1) == 0) {
            const uint64_t bytes = (random() % 4000 + 1) * 512;
            live.emplace_back(i << 20, bytes);
            level += bytes;
            written.peak_bytes = std::max(written.peak_bytes, level);
            recorder->record_alloc(
                AllocEvent{i << 20, bytes, bytes, 0, 0, static_cast<uint32_t>(i % 2)},
                record::kUnknownTotal);
        }
        while (live.size() > wanted) {
            std::swap(live[random() % live.size()], live.back());
            const auto [address, bytes] = live.back();
            live.pop_back();
            level -= bytes;
            recorder->record_free(address,
                                  static_cast<uint32_t>((address >> 20) % 2),
                                  Recorder::FreeKind::kCompleted,
                                  record::kUnknownTotal);
        }
    }
    written.last_bytes = level;
    recorder->close_trace();
}

uint64_t largest(const report::Timeline& timeline) {
    uint64_t bytes = 0;
    for (const report::TimelinePoint& point : timeline.points) {
        bytes = std::max(bytes, point.max_bytes);
    }
    return bytes;
}

TEST_CASE("a timeline from chunk headers has the exact peak and never hides a level", "[record]") {
    Written written;
    write_waves(written);
    const auto reader = report::TraceReader::open_file(written.file.path());
    const report::Timeline coarse = report::make_timeline(reader, {std::nullopt, 5});
    const report::Timeline fine = report::make_timeline(reader, {std::nullopt, 20'000});
    REQUIRE(coarse.from_headers);
    REQUIRE_FALSE(fine.from_headers);
    CHECK(coarse.points.size() <= 6);
    for (const report::Timeline* timeline : {&coarse, &fine}) {
        CHECK(timeline->peak_bytes == written.peak_bytes);
        CHECK(largest(*timeline) == written.peak_bytes);
    }
    CHECK(fine.end_bytes == written.last_bytes);
    uint64_t smallest = UINT64_MAX;
    for (const report::TimelinePoint& point : fine.points) {
        const auto next = std::upper_bound(
            coarse.points.begin(),
            coarse.points.end(),
            point.tick,
            [](uint64_t tick, const report::TimelinePoint& one) { return tick < one.tick; });
        if (next != coarse.points.end() && next != coarse.points.begin()) {
            REQUIRE(point.max_bytes <= std::prev(next)->max_bytes);
        }
        smallest = std::min(smallest, point.max_bytes);
    }
    CHECK(smallest < written.peak_bytes / 2);
}

TEST_CASE("a timeline of one device counts that device", "[record]") {
    Written written;
    write_waves(written);
    const auto reader = report::TraceReader::open_file(written.file.path());
    const report::Timeline first = report::make_timeline(reader, {0, 100});
    const report::Timeline second = report::make_timeline(reader, {1, 100});
    CHECK(first.end_bytes + second.end_bytes == written.last_bytes);
    CHECK(first.peak_bytes < written.peak_bytes);
    CHECK(report::make_timeline(reader, {7, 100}).peak_bytes == 0);
}

struct NoVisitor {
    void on_alloc_class(uint64_t, uint64_t, uint32_t, uint64_t) {}
    void on_alloc_inline(uint64_t, uint64_t, const report::AllocationShape&, uint64_t) {}
    void on_free(uint64_t, uint64_t, report::FreeKind, uint32_t) {}
    void on_unmatched_free(uint64_t) {}
    void on_rare(uint64_t, const report::RareEvent&) {}
};

TEST_CASE("the last tick is the one a pass over all events ends with", "[record]") {
    Written written;
    write_waves(written);
    Bytes bytes = written.file.bytes();
    uint64_t last_tick = UINT64_MAX;
    // Whole, then without the last chunk of events, then without the one before it, too.
    for (int lost_chunks = 0; lost_chunks < 3; ++lost_chunks) {
        const auto reader = report::TraceReader::from_memory("waves", bytes);
        NoVisitor nobody;
        const report::EventTotals totals = reader.read_events(nobody);
        CHECK(totals.skipped_chunk_count == static_cast<uint64_t>(lost_chunks));
        CHECK(reader.last_tick() == totals.last_tick);
        CHECK(totals.last_tick < last_tick);
        last_tick = totals.last_tick;
        size_t last = reader.chunks().size() - 1;
        for (int passed = 0;; --last) {
            if (reader.chunks()[last].is(format::ChunkType::kEvents) && passed++ == lost_chunks) {
                break;
            }
        }
        bytes[TraceBuilder::chunk_offset(last) + sizeof(format::ChunkHeader) + 9] ^= 0x40;
    }
}

struct Levels {
    uint64_t first_tick;
    uint64_t live_bytes;
    uint64_t max_live_bytes;
};

// A trace with these levels in its chunks of events.
Bytes trace_with(const std::vector<Levels>& chunks) {
    std::string text = "start\n";
    for (size_t i = 1; i < chunks.size(); ++i) {
        text += "wait 1\nchunk\nwait 1\nphase p\nendphase p\n";
    }
    Bytes file = TextTrace(text + "stop\nend\n").bytes();
    size_t next = 0;
    for (size_t at = format::kSuperblockBytes; at < file.size(); at += format::kChunkBytes) {
        format::ChunkHeader header;
        std::memcpy(&header, &file[at], sizeof header);
        if (header.type == static_cast<uint16_t>(format::ChunkType::kEvents)) {
            header.first_tick = chunks[next].first_tick;
            header.live_bytes = chunks[next].live_bytes;
            header.max_live_bytes = chunks[next++].max_live_bytes;
            std::memcpy(&file[at], &header, sizeof header);
        }
    }
    REQUIRE(next == chunks.size());
    return file;
}

TEST_CASE("the largest level of a chunk counts in every point it overlaps", "[report]") {
    const OpenTrace trace(trace_with({{0, 1, 2}, {10, 10, 1000}, {100, 5, 6}, {110, 4, 7}}));
    const report::Timeline timeline = report::make_timeline(trace.reader, {std::nullopt, 2});
    REQUIRE(timeline.from_headers);
    REQUIRE(timeline.points.size() == 2);
    CHECK(timeline.points[0].max_bytes == 1000);
    CHECK(timeline.points[1].max_bytes == 1000);
    CHECK(timeline.points[1].level_bytes == 10);
    CHECK(timeline.peak_bytes == 1000);
    CHECK(timeline.peak_tick == 10);
    CHECK(timeline.end_bytes == 4);
}

TEST_CASE("headers with wrong times make no more points than requested", "[report]") {
    for (const uint64_t lie : {uint64_t{0}, UINT64_MAX / 2, UINT64_MAX}) {
        const OpenTrace trace(trace_with({{5, 1, 2}, {lie, 3, 4}, {lie, 5, 6}, {100, 7, 8}}));
        CHECK(report::make_timeline(trace.reader, {std::nullopt, 2}).points.size() <= 3);
    }
}

}  // namespace
}  // namespace peakline::test
