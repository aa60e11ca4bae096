// A second thread that decodes changes nothing: the same events in the same order, the same totals
// and problems, of whole traces and of damaged ones.
#include <array>
#include <random>

#include "report/trace/file/trace_error.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::AllocationShape;
using report::Decoding;
using report::EventTotals;
using report::FreeKind;
using report::RareEvent;

using Event = std::array<uint64_t, 8>;

// All events, in order.
struct Listener {
    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t address) {
        events.push_back({1, ordinal, tick, class_id, address});
    }
    void on_alloc_inline(uint64_t ordinal,
                         uint64_t tick,
                         const AllocationShape& shape,
                         uint64_t address) {
        events.push_back({2,
                          ordinal,
                          tick,
                          shape.context,
                          address,
                          shape.requested_bytes,
                          shape.block_bytes,
                          shape.stream + (uint64_t{shape.device} << 32U)});
    }
    void on_free(uint64_t ordinal, uint64_t tick, FreeKind kind, uint32_t context) {
        events.push_back({3, ordinal, tick, static_cast<uint64_t>(kind), context});
    }
    void on_unmatched_free(uint64_t tick) { events.push_back({4, tick}); }
    void on_rare(uint64_t tick, const RareEvent& event) {
        events.push_back({5,
                          tick,
                          static_cast<uint64_t>(event.type),
                          event.fields[0],
                          event.fields[1],
                          event.fields[2],
                          event.fields[3],
                          event.fields[4]});
    }

    std::vector<Event> events;
};

struct Pass {
    std::vector<Event> events;
    EventTotals totals;
};

Pass pass_over(const report::TraceReader& reader, Decoding decoding) {
    Listener listener;
    EventTotals totals = reader.read_events(listener, {}, decoding);
    return {std::move(listener.events), std::move(totals)};
}

void check_same(const report::TraceReader& reader) {
    const Pass here = pass_over(reader, Decoding::kHere);
    const Pass ahead = pass_over(reader, Decoding::kAhead);
    REQUIRE((here.events == ahead.events));
    CHECK(here.totals.event_count == ahead.totals.event_count);
    CHECK(here.totals.alloc_count == ahead.totals.alloc_count);
    CHECK(here.totals.payload_bytes == ahead.totals.payload_bytes);
    CHECK(here.totals.last_tick == ahead.totals.last_tick);
    CHECK(here.totals.skipped_chunk_count == ahead.totals.skipped_chunk_count);
    CHECK(here.totals.problems.texts() == ahead.totals.problems.texts());
}

// Events of every kind; `chunk_events` in each chunk.
Bytes random_trace(uint64_t seed, int event_count, int chunk_events) {
    std::mt19937_64 random(seed);
    TraceBuilder builder;
    for (int i = 0; i < event_count; ++i) {
        if (i % chunk_events == 0) {
            builder.next_event_chunk();
        }
        builder.advance(random() % 100);
        const uint64_t newest = builder.next_ordinal();
        switch (newest == 0 ? 0 : random() % 8) {
            case 0:
            case 1:
            case 2:
                builder.alloc_class(static_cast<uint32_t>(random() % 50 + 1), random() >> 20);
                break;
            case 3: {
                Bytes shape = fields({random() % 9, random() % 2, random() % 3, random() % 70000});
                put_zz(shape, 512);
                builder.alloc_inline(shape, random() >> 20);
                break;
            }
            case 4:
                builder.free_deferred(random() % newest);
                break;
            case 5:
                builder.mark(format::MarkKind::kStep);
                break;
            default:
                builder.free(random() % newest);
        }
    }
    // Frees a block of before the trace.
    builder.extended(format::ExtendedType::kFreeWithContext,
                     fields({builder.next_ordinal() + 5, 1}));
    return builder.finish();
}

TEST_CASE("decoding ahead gives the same events", "[report]") {
    // Chunks that fill many batches, and batches that are never full.
    for (const int chunk_events : {60'000, 700}) {
        const OpenTrace trace(random_trace(11, 200'000, chunk_events));
        const Pass pass = pass_over(trace.reader, Decoding::kAhead);
        CHECK(pass.totals.event_count == 200'001);
        CHECK(pass.events.back()[0] == 4);
        check_same(trace.reader);
    }
}

TEST_CASE("decoding a damaged trace ahead gives the same events", "[report]") {
    const Bytes whole = random_trace(12, 20'000, 1000);
    std::mt19937_64 random(13);
    size_t problem_count = 0;
    for (int i = 0; i < 60; ++i) {
        Bytes file = whole;
        for (int flip = 0; flip < 3; ++flip) {
            // Where bytes are in use: a chunk's header and the first records after it.
            const size_t chunk = random() % 20 + 1;
            file[TraceBuilder::chunk_offset(chunk) + random() % 3000] ^=
                static_cast<unsigned char>(1U << random() % 8);
        }
        const OpenTrace trace(std::move(file));
        check_same(trace.reader);
        problem_count += pass_over(trace.reader, Decoding::kHere).totals.problems.texts().size();
    }
    CHECK(problem_count > 60);
}

TEST_CASE("a listener that stops ends the decoding", "[report]") {
    const OpenTrace trace(random_trace(14, 300'000, 50'000));
    Listener listener;
    CHECK_THROWS_AS(
        trace.reader.read_events(listener, [](double) { throw 1; }, Decoding::kAhead), int);
    CHECK(listener.events.size() < 300'000);
    CHECK(!listener.events.empty());
}

TEST_CASE("an exception of the decoding thread reaches the listener", "[report]") {
    report::BatchQueue queue;
    report::BatchFiller filler(queue);
    filler.on_unmatched_free(7);
    filler.end_chunk(0.5);
    queue.end(std::make_exception_ptr(report::TraceError("cut")));
    Listener listener;
    queue.take_full()->replay_into(listener);
    CHECK((listener.events == std::vector<Event>{{4, 7}}));
    CHECK_THROWS_AS(queue.take_full(), report::TraceError);
}

TEST_CASE("a second thread is used where it pays", "[report]") {
    CHECK(report::decodes_ahead(Decoding::kAhead, 1));
    CHECK(!report::decodes_ahead(Decoding::kHere, 1000));
    CHECK(!report::decodes_ahead(Decoding::kWhereItPays, 2));
}

}  // namespace
}  // namespace peakline::test
