// A visitor gets the written events, field by field, across chunks.
#include <random>
#include <tuple>

#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::AllocationShape;
using report::FreeKind;
using report::RareEvent;

// ordinal, tick, class or context, requested, block, address
using Alloc = std::tuple<uint64_t, uint64_t, uint32_t, uint64_t, uint64_t, uint64_t>;
using Free = std::tuple<uint64_t, uint64_t, FreeKind>;

struct KeepingVisitor {
    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t address) {
        allocs.emplace_back(ordinal, tick, class_id, 0, 0, address);
    }
    void on_alloc_inline(uint64_t ordinal,
                         uint64_t tick,
                         const AllocationShape& shape,
                         uint64_t address) {
        allocs.emplace_back(
            ordinal, tick, shape.context, shape.requested_bytes, shape.block_bytes, address);
    }
    void on_free(uint64_t ordinal, uint64_t tick, FreeKind kind, uint32_t) {
        frees.emplace_back(ordinal, tick, kind);
    }
    void on_unmatched_free(uint64_t) { ++unmatched; }
    void on_rare(uint64_t, const RareEvent& event) { rare.push_back(event); }

    std::vector<Alloc> allocs;
    std::vector<Free> frees;
    std::vector<RareEvent> rare;
    int unmatched = 0;
};

TEST_CASE("a visitor gets the written events, over many chunks", "[report]") {
    std::mt19937_64 random(7);
    TraceBuilder builder;
    std::vector<Alloc> allocs;
    std::vector<Free> frees;
    uint64_t tick = 0;
    for (int i = 0; i < 100000; ++i) {
        const uint64_t wait = random() % 3 == 0 ? random() % 100000 : random() % 62;
        tick += wait;
        builder.advance(wait);
        // As wide as addresses are: the coding has room for deltas of 62 bits.
        const uint64_t address = random() % 2 == 0 ? random() >> 8 : (random() >> 20) * 512;
        const uint64_t newest = builder.next_ordinal();
        if (newest == 0 || random() % 3 != 0) {
            const uint64_t requested = random() % (uint64_t{1} << 45);
            Bytes shape = fields({5, 1, 2, requested});
            put_zz(shape, -3);
            const bool is_class = requested < 3 || random() % 2 == 0;
            is_class ? builder.alloc_class(9, address) : builder.alloc_inline(shape, address);
            is_class ? allocs.emplace_back(newest, tick, 9, 0, 0, address)
                     : allocs.emplace_back(newest, tick, 5, requested, requested - 3, address);
        } else {
            const uint64_t ordinal = random() % newest;
            const bool plain = random() % 2 == 0;
            plain ? builder.free(ordinal) : builder.free_deferred(ordinal);
            frees.emplace_back(ordinal, tick, plain ? FreeKind::kPlain : FreeKind::kDeferred);
        }
    }
    const OpenTrace trace(builder.finish());
    KeepingVisitor visitor;
    const auto totals = trace.reader.read_events(visitor);
    CHECK(trace.reader.chunks().size() > 3);
    CHECK(totals.problems.texts().empty());
    CHECK(totals.event_count == 100000);
    CHECK(totals.last_tick == tick);
    CHECK((visitor.allocs == allocs));
    CHECK((visitor.frees == frees));
}

TEST_CASE("after a lost chunk ordinals and addresses continue from the header", "[report]") {
    TraceBuilder builder;
    for (const uint64_t address : {512, 1024, 4096}) {
        builder.next_event_chunk();
        builder.alloc_class(1, address);
    }
    Bytes file = builder.finish();
    file[TraceBuilder::chunk_offset(2) + sizeof(format::ChunkHeader)] ^= 1;
    KeepingVisitor visitor;
    const OpenTrace trace(file);
    trace.reader.read_events(visitor);
    CHECK((visitor.allocs == std::vector<Alloc>{{0, 0, 1, 0, 0, 512}, {2, 0, 1, 0, 0, 4096}}));
}

TEST_CASE("rare events carry their fields in order", "[report]") {
    TraceBuilder builder;
    builder.extended(format::ExtendedType::kSegment, fields({1, 2, 3, 4, 5}));
    builder.extended(format::ExtendedType::kOutOfMemory, fields({6, 7, 8, 9}));
    builder.extended(format::ExtendedType::kFreeWithContext, fields({1, 2}));
    const OpenTrace trace(builder.finish());
    KeepingVisitor visitor;
    trace.reader.read_events(visitor);
    REQUIRE(visitor.rare.size() == 2);
    CHECK(visitor.rare[0].type == format::ExtendedType::kSegment);
    CHECK(visitor.rare[0].as<format::Segment>()->bytes == 5);
    CHECK(visitor.rare[1].as<format::OutOfMemory>()->free_bytes == 9);
    CHECK(visitor.unmatched == 1);
}

TEST_CASE("a progress function gets the fraction of work done and may end it", "[report]") {
    TraceBuilder builder;
    for (int i = 0; i < 4; ++i) {
        builder.next_event_chunk();
        builder.mark(format::MarkKind::kStep);
    }
    const OpenTrace trace(builder.finish());
    std::vector<double> fractions;
    const report::Progress keep = [&](double fraction) { fractions.push_back(fraction); };
    report::replay(trace.reader, {}, keep);
    CHECK(fractions == std::vector<double>{0.4, 0.6, 0.8, 1.0});
    CHECK_THROWS_AS(report::replay(trace.reader, {}, [](double) { throw 1; }), int);
}

}  // namespace
}  // namespace peakline::test
