// Points and moments of the HTML page against brute force: the whole live set after every event is
// kept, and every bucket is looked up in it.
#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "report/render/page/page_columns.h"
#include "report/render/page/page_report.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using namespace peakline::report;
using Live = std::map<uint32_t, std::pair<int64_t, int64_t>>;  // context: bytes, blocks

struct Event {
    uint64_t tick = 0;
    Height level;
    CategoryLevels categories = {};
    Live live;
    uint64_t reserved_bytes = 0;  // the most from this event to the next
};

constexpr uint32_t kContexts = 7;
constexpr uint32_t kCategories = 3;

// Random blocks that come and go, with tracing on and off.
class RandomRun {
public:
    RandomRun(uint32_t seed, PagePoints& page_points, PageMoments& page_moments)
        : random_(seed), points_(page_points), moments_(page_moments) {
        const size_t count = 1 + random_() % 700;
        while (events.size() < count) {
            add_event();
        }
        points_.finish();
        moments_.finish();
    }

    std::vector<Event> events;

private:
    void add_event() {
        now_.tick += 1 + random_() % 5;
        if (!events.empty() && random_() % 50 == 0) {
            toggle_tracing();
        }
        move_segments();
        const bool frees = !blocks_.empty() && random_() % 2 == 0;
        std::pair<uint32_t, int64_t> block = {random_() % kContexts, 1 + random_() % 9};
        if (frees) {
            std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
            block = blocks_.back();
            blocks_.pop_back();
        } else {
            blocks_.push_back(block);
        }
        const int64_t sign = frees ? -1 : 1;
        const auto bytes = static_cast<uint64_t>(sign * block.second);
        now_.level.bytes += bytes;
        now_.categories[block.first % kCategories] += bytes;
        auto& held = now_.live[block.first];
        held.first += sign * block.second;
        held.second += sign;
        if (held.second == 0) {
            now_.live.erase(block.first);
        }
        events.push_back(now_);
        points_.on_event(now_.tick, now_.level, now_.categories);
        moments_.on_event({block.first, sign * block.second, sign}, now_.level);
    }

    // A gain counts from the event that follows, unless it is gone by then.
    void move_segments() {
        while (random_() % 3 == 0) {
            const uint64_t next = random_() % 40;
            if (next < now_.reserved_bytes && !events.empty()) {
                uint64_t& most = events.back().reserved_bytes;
                most = std::max(most, now_.reserved_bytes);
            }
            now_.reserved_bytes = next;
            points_.on_reserved(next);
        }
    }

    // When it starts, the level counts from then on, as part of the bucket before.
    void toggle_tracing() {
        now_.level.traced = !now_.level.traced;
        if (now_.level.traced) {
            events.back().level.traced = true;
            points_.consider(now_.tick, now_.level, now_.categories);
            moments_.consider(now_.level);
        }
    }

    std::mt19937 random_;
    PagePoints& points_;
    PageMoments& moments_;
    Event now_;
    std::vector<std::pair<uint32_t, int64_t>> blocks_;
};

const Event& highest(const std::vector<Event>& events, uint64_t width, size_t bucket) {
    const size_t begin = bucket * width;
    const size_t end = std::min<size_t>(events.size(), begin + width);
    size_t best = begin;
    for (size_t i = begin; i < end; ++i) {
        best = events[i].level.above(events[best].level) ? i : best;
    }
    return events[best];
}

Live live_of(const std::vector<PageChange>& changes) {
    Live live;
    for (const PageChange& change : changes) {
        live[change.context] = {change.bytes, change.count};
    }
    return live;
}

void check_moments(const RandomRun& run, const PageMoments& moments) {
    const uint64_t width = moments.events_per_moment();
    REQUIRE(moments.moments().size() == (run.events.size() + width - 1) / width);
    for (size_t i = 0; i < moments.moments().size(); ++i) {
        const Event& event = highest(run.events, width, i);
        REQUIRE(moments.moments()[i].peak.bytes == event.level.bytes);
        REQUIRE(live_of(moments.live_at(i)) == event.live);
    }
}

void check_points(const RandomRun& run, const PagePoints& points) {
    const uint64_t width = points.events_per_point();
    REQUIRE(points.points().size() == (run.events.size() + width - 1) / width);
    for (size_t i = 0; i < points.points().size(); ++i) {
        const PagePoint& point = points.points()[i];
        const Event& event = highest(run.events, width, i);
        uint64_t low = UINT64_MAX;
        uint64_t reserved = 0;
        for (size_t j = i * width; j < std::min<size_t>(run.events.size(), (i + 1) * width); ++j) {
            low = std::min(low, run.events[j].level.bytes);
            reserved = std::max(reserved, run.events[j].reserved_bytes);
        }
        REQUIRE(point.begin_tick == run.events[i * width].tick);
        REQUIRE(point.peak.bytes == event.level.bytes);
        REQUIRE(point.categories == event.categories);
        REQUIRE(point.min_bytes == low);
        REQUIRE(point.max_reserved_bytes == reserved);
    }
}

TEST_CASE("every bucket of a page keeps the highest moment of a brute-force count", "[page]") {
    for (uint32_t seed = 1; seed <= 300; ++seed) {
        INFO("seed " << seed);
        const size_t limit = size_t{1} << (seed % 8);
        PagePoints points(limit);
        PageMoments moments(limit, seed % 3 == 0 ? 40 : 1'000'000);
        const RandomRun run(seed, points, moments);
        check_points(run, points);
        check_moments(run, moments);
        REQUIRE(moments.events_per_moment() % points.events_per_point() == 0);
        while (moments.coarsen()) {
            check_moments(run, moments);
        }
    }
}

TEST_CASE("a column restores its numbers from its planes", "[page]") {
    std::mt19937_64 random(7);
    for (const ColumnCoding coding :
         {ColumnCoding::kPlain, ColumnCoding::kSigned, ColumnCoding::kDelta}) {
        std::vector<int64_t> numbers;
        for (int i = 0; i < 1000; ++i) {
            const auto number = static_cast<int64_t>(random() >> (12 + i % 50));
            const bool negative = coding == ColumnCoding::kSigned && i % 3 == 0;
            numbers.push_back(negative ? -number : number);
        }
        const CodedColumn column = code_column(coding, numbers);
        uint64_t before = 0;
        for (size_t i = 0; i < numbers.size(); ++i) {
            uint64_t coded = 0;
            for (uint64_t plane = 0; plane < column.width; ++plane) {
                coded |=
                    uint64_t{static_cast<unsigned char>(column.planes[plane * column.count + i])}
                    << (8 * plane);
            }
            const uint64_t plain =
                coding == ColumnCoding::kPlain ? coded : (coded >> 1) ^ (0 - (coded & 1));
            before = coding == ColumnCoding::kDelta ? before + plain : plain;
            REQUIRE(static_cast<int64_t>(before) == numbers[i]);
        }
    }
}

TEST_CASE("the highest moment of a page is the peak of the table", "[page]") {
    const OpenTrace trace(
        "alloc u 1 900 untraced stack=u.py:1:f\n start\n free u\n"
        "alloc a 2 64 stack=a.py:1:f\n alloc b 3 32 stack=b.py:2:g;a.py:1:f\n"
        "free a\n alloc c 4 16 stack=b.py:2:g;a.py:1:f dev=1\n stop\n end\n");
    const Selection selection = parse_selection({});
    StackLookup stacks(trace.reader.definitions(), selection.frames);
    const Page page = build_page(trace.reader, selection, {}, stacks);
    const PagePeak peak = find_peak(page);
    const auto result = trace.replay();
    CHECK(page.points.points()[peak.point].peak.bytes == result.chosen.peak_bytes);
    CHECK(page.event_count == 5);
    std::map<std::string, uint64_t> rows;
    for (const PageRow& row : peak.rows) {
        rows[page.names.lines[row.line].key] = row.bytes;
    }
    CHECK(rows == std::map<std::string, uint64_t>{{"untraced", 900}});
}

TEST_CASE("a page of a part of the run has the blocks that were live before", "[page]") {
    const OpenTrace trace(
        "start\n alloc a 1 64 stack=a.py:1:f\n alloc b 2 512 stack=b.py:1:f\n free b\n wait 1000\n"
        "alloc c 3 32 stack=c.py:1:f\n wait 1000\n alloc d 4 512 stack=d.py:1:f\n stop\n end\n");
    const Selection selection = parse_selection({});
    StackLookup stacks(trace.reader.definitions(), selection.frames);
    PageRequest request;
    request.from_seconds = trace.reader.seconds(500);
    request.to_seconds = trace.reader.seconds(1500);
    const Page page = build_page(trace.reader, selection, request, stacks);
    const PagePeak peak = find_peak(page);
    CHECK(page.points.points()[peak.point].peak.bytes == 96);
    CHECK(page.points.points().front().begin_tick == 500);
    CHECK(peak.rows.size() == 2);
}

}  // namespace
}  // namespace peakline::test
