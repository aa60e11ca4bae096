// Why reserved bytes are there, and what goes back to the device without a line's blocks: against
// doing it, on random states.
#include "report/views/segments/allocator_state.h"

#include <random>

#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using namespace peakline::report;

constexpr uint64_t kMib = uint64_t{1} << 20;

AllocatorState random_state(std::mt19937& random) {
    const auto draw = [&](uint64_t below) { return random() % below; };
    AllocatorState state;
    state.used_pools = {3};
    uint64_t address = 1 << 30;
    for (uint64_t count = 1 + draw(8); count > 0; --count) {
        StateSegment segment;
        segment.address = address;
        segment.is_expandable = draw(2) == 0;
        segment.unit_bytes = segment.is_expandable ? 2 * kMib : 0;
        segment.bytes = 2 * kMib * (1 + draw(6));
        segment.pool = draw(4) == 0 ? 3 + draw(2) : 0;
        for (uint64_t at = 0; at < segment.bytes;) {
            const uint64_t bytes = std::min(segment.bytes - at, 512 * (1 + draw(6000)));
            if (draw(3) == 0) {
                StateBlock block;
                block.address = address + at;
                block.bytes = bytes;
                block.requested_bytes = bytes - draw(512);
                block.rounded_bytes = bytes;
                block.context = static_cast<uint32_t>(draw(4));
                block.is_waiting = draw(5) == 0;
                segment.blocks.push_back(block);
            }
            at += bytes;
        }
        address += segment.bytes + draw(2) * kMib;
        state.segments.push_back(segment);
    }
    return state;
}

// The bytes that an emptied cache would return once no block waits, computed range by range.
uint64_t returned(const AllocatorState& state) {
    uint64_t bytes = 0;
    for (const StateSegment& segment : state.segments) {
        if (state.used_pools.count(segment.pool) != 0) {
            continue;
        }
        const uint64_t step = segment.is_expandable ? segment.unit_bytes : segment.bytes;
        for (uint64_t at = segment.address; at < segment.end(); at += step) {
            bool is_kept = false;
            for (const StateBlock& block : segment.blocks) {
                is_kept = is_kept || (!block.is_waiting && block.address < at + step &&
                                      block.address + block.bytes > at);
            }
            bytes += is_kept ? 0 : step;
        }
    }
    return bytes;
}

AllocatorState without(AllocatorState state, const std::vector<uint32_t>& lines) {
    for (StateSegment& segment : state.segments) {
        std::erase_if(segment.blocks, [&](const StateBlock& block) {
            return std::find(lines.begin(), lines.end(), block.context) != lines.end();
        });
    }
    return state;
}

TEST_CASE("freeing the blocks of a line, or of several lines, returns the predicted bytes",
          "[allocator]") {
    std::mt19937 random(4);
    uint64_t set_count = 0;
    for (int i = 0; i < 2000; ++i) {
        const AllocatorState state = random_state(random);
        const SegmentPins pins = find_pins(state, [](uint32_t context) { return context; });
        const uint64_t now = returned(state);
        for (const SegmentPin& pin : pins.lines) {
            REQUIRE(pin.sole_bytes == returned(without(state, {pin.line})) - now);
        }
        for (const PinningSet& set : pins.sets) {
            REQUIRE(set.bytes == returned(without(state, set.lines)) - now);
            ++set_count;
        }
    }
    CHECK(set_count > 100);
}

TEST_CASE("the causes sum to the reserved bytes, and each hole has one cause", "[allocator]") {
    std::mt19937 random(5);
    for (int i = 0; i < 2000; ++i) {
        const AllocatorState state = random_state(random);
        const ReservedCauses causes = find_causes(state);
        uint64_t reserved = 0;
        uint64_t sum = causes.live_bytes + causes.waiting_bytes;
        for (const StateSegment& segment : state.segments) {
            reserved += segment.bytes;
        }
        for (const uint64_t bytes : causes.free_bytes) {
            sum += bytes;
        }
        REQUIRE(causes.reserved_bytes == reserved);
        REQUIRE(sum == reserved);
        REQUIRE(causes.rounding_bytes + causes.division_bytes + causes.unsplit_bytes <=
                causes.live_bytes);
    }
}

TEST_CASE("rounding, divisions and unsplit bytes of a live block are separate", "[allocator]") {
    const AllocatorSettings settings = parse_allocator_settings("roundup_power2_divisions:4");
    AllocatorState state;
    StateSegment segment;
    segment.bytes = 20 * kMib;
    StateBlock block;
    block.requested_bytes = 9 * kMib + 1;  // to 512: 9 MiB + 512, of quarters: 10 MiB
    block.bytes = 11 * kMib;               // the rest was not split off
    block.rounded_bytes = rounded_request(settings, block.requested_bytes, block.bytes);
    segment.blocks = {block};
    state.segments = {segment};
    const ReservedCauses causes = find_causes(state);
    CHECK(causes.rounding_bytes == 511);
    CHECK(causes.division_bytes == kMib - 512);
    CHECK(causes.unsplit_bytes == kMib);
    CHECK(causes.free(FreeCause::kPinned) == 9 * kMib);
    CHECK(causes.largest_hole_bytes == 9 * kMib);
}

TEST_CASE("lines live as long as their blocks, until main ends", "[allocator]") {
    const OpenTrace trace(TextTrace("segment 0x10000000 20971520\n"
                                    "alloc a 0x10000000 1048576\n"
                                    "wait 10\n"
                                    "alloc b 0x10100000 1048576\n"
                                    "alloc c 0x10200000 1048576\n"
                                    "alloc early 0x10300000 1048576\n"
                                    "free early\n"
                                    "wait 20\n"
                                    "free b\n"
                                    "defer c\n"
                                    "wait 70\n"
                                    "complete c\n"
                                    "mainend\n"
                                    "wait 500\n"
                                    "free a\n")
                              .bytes());
    const AllocatorState state = find_allocator_state(trace.reader, 0, 5, {});
    const SegmentPins pins = find_pins(state, [](uint32_t) { return 0U; });
    REQUIRE(pins.lines.size() == 1);
    const SegmentPin& pin = pins.lines.front();
    CHECK(pin.block_count == 3);
    CHECK(pin.freed_count == 2);
    CHECK(pin.longest_ticks >= 100);  // a, until main ended
    CHECK(pin.longest_ticks < 600);
    CHECK(pin.median_ticks >= 20);
    CHECK(pin.median_ticks < 90);
}

TEST_CASE("a state has the segments and the owned pools of its moment", "[allocator]") {
    const OpenTrace trace(TextTrace("call 1 pool=3\n"
                                    "segment 0x10000000 20971520 pool=3\n"
                                    "alloc a 0x10000000 5242880\n"
                                    "segment 0x20000000 31457280\n"
                                    "alloc b 0x20000000 31457280\n"
                                    "free b\n"
                                    "call 2 pool=3\n")
                              .bytes());
    const auto causes_after = [&](uint64_t event) {
        return find_causes(find_allocator_state(trace.reader, 0, event, {}));
    };
    CHECK(causes_after(3).reserved_bytes == 20 * kMib);
    CHECK(causes_after(3).free(FreeCause::kPrivate) == 15 * kMib);
    CHECK(causes_after(6).free(FreeCause::kWhole) == 30 * kMib);
    CHECK(causes_after(UINT64_MAX).free(FreeCause::kPrivate) == 0);
    CHECK(causes_after(UINT64_MAX).free(FreeCause::kPinned) == 15 * kMib);
}

}  // namespace
}  // namespace peakline::test
