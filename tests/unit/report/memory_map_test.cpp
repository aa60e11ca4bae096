// Maps of the HTML page against brute force: every 512 bytes of a small address space are looked
// at, after every event.
#include "report/views/segments/memory_map.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/views/page/page.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using namespace peakline::report;

constexpr uint64_t kUnit = 512;
constexpr uint64_t kCells = 64;

// The content of each cell: 0 no segment, else 1 and the stream; and the block, 0 for none.
struct Cells {
    std::vector<uint32_t> segment = std::vector<uint32_t>(kCells);
    std::vector<uint32_t> block = std::vector<uint32_t>(kCells);
};

struct Sums {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    uint32_t stream = 0;
    uint64_t block_bytes = 0;
    uint64_t hole_count = 0;
    uint64_t largest_hole = 0;
    std::set<uint64_t> blocks;  // where they begin

    bool operator==(const Sums&) const = default;
};

std::map<uint64_t, Sums> brute_force(const Cells& cells) {
    std::map<uint64_t, Sums> found;
    Sums* open = nullptr;
    uint64_t hole = 0;
    for (uint64_t i = 0; i < kCells; ++i) {
        const bool is_new = i == 0 || cells.segment[i] != cells.segment[i - 1];
        if (cells.segment[i] == 0) {
            continue;
        }
        if (is_new) {
            open = &found[i * kUnit];
            open->begin = i * kUnit;
            open->stream = cells.segment[i] - 1;
            hole = 0;
        }
        open->bytes += kUnit;
        if (cells.block[i] != 0) {
            open->block_bytes += kUnit;
            if (is_new || cells.block[i] != cells.block[i - 1]) {
                open->blocks.insert(i * kUnit);
            }
            hole = 0;
            continue;
        }
        open->hole_count += hole == 0 ? 1 : 0;
        hole += kUnit;
        open->largest_hole = std::max(open->largest_hole, hole);
    }
    return found;
}

// The state of a page's map at a moment, as its script finds it: by the changes up to there.
MemoryMap state_of(const PageMap& map, const std::string& kind) {
    using Kind = MapChangeKind;
    const auto moment = std::find_if(map.moments.begin(),
                                     map.moments.end(),
                                     [&](const PageMapMoment& one) { return one.kind == kind; });
    REQUIRE(moment != map.moments.end());
    std::map<uint32_t, MapBlock> blocks;
    SegmentRanges pieces;
    const auto apply = [&](format::SegmentAction action, uint32_t id) {
        const StateSegment& piece = map.pieces.at(id);
        pieces.apply({action, 0, piece.stream, piece.address, piece.bytes});
    };
    for (size_t i = 0; i < moment->change_end; ++i) {
        const auto& [change, id, tick] = map.changes[i];
        if (change == Kind::kBlock) {
            const PageMapBlock& block = map.blocks.at(id);
            blocks[id] = {block.address, block.bytes, block.context, false};
        } else if (change == Kind::kBlockWaits) {
            blocks.at(id).is_waiting = true;
        } else if (change == Kind::kBlockGone) {
            REQUIRE(blocks.erase(id) == 1);
        } else if (change == Kind::kPiece) {
            const bool is_mapped = map.pieces.at(id).is_expandable;
            apply(is_mapped ? format::SegmentAction::kMap : format::SegmentAction::kAlloc, id);
        } else if (change == Kind::kPieceGone) {
            apply(format::SegmentAction::kUnmap, id);
        }
    }
    std::vector<MapBlock> live;
    for (const auto& [id, block] : blocks) {
        live.push_back(block);
    }
    return make_memory_map(pieces.now(), live);
}

std::map<uint64_t, Sums> sums_of(const PageMap& page_map, const std::string& kind) {
    const MemoryMap map = state_of(page_map, kind);
    std::map<uint64_t, Sums> sums;
    size_t at = 0;
    for (const MapSegment& segment : map.segments) {
        Sums& one = sums[segment.range.address];
        one.begin = segment.range.address;
        one.bytes = segment.range.bytes;
        one.stream = segment.range.stream;
        one.block_bytes = segment.block_bytes;
        one.hole_count = segment.hole_count;
        one.largest_hole = segment.largest_hole_bytes;
        for (; at < segment.block_end; ++at) {
            one.blocks.insert(map.blocks[at].address);
        }
        CHECK(one.blocks.size() == segment.block_count);
        CHECK(segment.free_bytes() == segment.range.bytes - segment.block_bytes);
    }
    return sums;
}

// Maps and unmaps parts of an address space, fills them, frees; keeps the data for brute force.
class RandomMemory {
public:
    explicit RandomMemory(uint32_t seed) : random_(seed) {
        const size_t count = 20 + random_() % 100;
        for (size_t i = 0; i < count; ++i) {
            add_event();
        }
        text += "end\n";
    }

    std::string text = "start\n";
    Cells now;
    Cells at_peak;
    uint64_t peak = 0;

private:
    void add_event() {
        const uint64_t begin = random_() % kCells;
        // Each half has one stream: no segment or block spans both halves.
        const uint64_t half = begin < kCells / 2 ? kCells / 2 : kCells;
        const uint64_t end = std::min(half, begin + 1 + random_() % 8);
        const auto is = [&](const std::vector<uint32_t>& cells, bool used) {
            return std::all_of(cells.begin() + static_cast<long>(begin),
                               cells.begin() + static_cast<long>(end),
                               [&](uint32_t cell) { return (cell != 0) == used; });
        };
        const auto put = [&](std::vector<uint32_t>& cells, uint32_t value) {
            std::fill(cells.begin() + static_cast<long>(begin),
                      cells.begin() + static_cast<long>(end),
                      value);
        };
        const std::string range =
            " " + std::to_string(begin * kUnit) + " " + std::to_string((end - begin) * kUnit);
        const auto stream = static_cast<uint32_t>(begin / (kCells / 2));
        if (random_() % 4 == 0 && !live_.empty()) {
            free_one();
        } else if (is(now.segment, false)) {
            text += "map" + range + " stream=" + std::to_string(stream) + "\n";
            put(now.segment, stream + 1);
        } else if (is(now.segment, true) && is(now.block, false) && random_() % 3 == 0) {
            text += "unmap" + range + " stream=" + std::to_string(stream) + "\n";
            put(now.segment, 0);
        } else if (is(now.segment, true) && is(now.block, false)) {
            const uint32_t name = ++names_;
            text += "alloc " + std::to_string(name) + range + " stack=/w/f.py:1:f thread=1\n";
            put(now.block, name);
            live_.push_back(name);
            level_ += (end - begin) * kUnit;
        }
        if (level_ > peak) {
            peak = level_;
            at_peak = now;
        }
    }

    void free_one() {
        std::swap(live_[random_() % live_.size()], live_.back());
        text += "free " + std::to_string(live_.back()) + "\n";
        for (uint32_t& cell : now.block) {
            level_ -= cell == live_.back() ? kUnit : 0;
            cell = cell == live_.back() ? 0 : cell;
        }
        live_.pop_back();
    }

    std::mt19937 random_;
    std::vector<uint32_t> live_;
    uint32_t names_ = 0;
    uint64_t level_ = 0;
};

Page page_of(const OpenTrace& trace, const PageRequest& request = {}) {
    const Selection selection = parse_selection({});
    StackLookup stacks(trace.reader.definitions(), selection.frames);
    return build_page(trace.reader, selection, request, stacks);
}

TEST_CASE("segments, blocks and holes of a map equal a brute-force count", "[page]") {
    size_t compared = 0;
    std::set<std::pair<bool, bool>> kept;
    for (uint32_t seed = 1; seed <= 300; ++seed) {
        const RandomMemory memory(seed);
        INFO("seed " << seed << "\n" << memory.text);
        if (memory.peak == 0) {
            continue;
        }
        PageRequest request;
        // Every event, the chosen moments, the peak alone.
        for (const size_t most : {size_t{10'000}, size_t{80}, size_t{20}}) {
            request.limits.map_changes = most;
            const PageMap map = page_of(OpenTrace(memory.text), request).map;
            if (map.moments.empty()) {
                CHECK(most < 10'000);
                continue;
            }
            CHECK(map.changes.size() <= most);
            kept.insert({map.has_every_event, map.moments.size() > 1});
            REQUIRE(sums_of(map, "peak") == brute_force(memory.at_peak));
            if (map.moments.size() > 1) {
                REQUIRE(sums_of(map, "end") == brute_force(memory.now));
            }
        }
        ++compared;
    }
    CHECK(compared > 250);
    CHECK(kept.size() == 3);
}

TEST_CASE("the smallest blocks of a long map are sums of their segments", "[page]") {
    const std::vector<SegmentRange> segments = {{0, 1000, 1, false}, {2000, 1000, 0, false}};
    const std::vector<MapBlock> blocks = {{0, 100, 0, false},
                                          {100, 30, 0, false},
                                          {2000, 20, 0, false},
                                          {2500, 40, 0, true},
                                          {5000, 7, 0, false}};
    const MemoryMap map = make_memory_map(segments, blocks, 2);
    REQUIRE(map.segments.size() == 2);
    CHECK(map.segments[0].range.address == 2000);  // of the smaller stream
    CHECK(map.segments[0].unlisted_bytes == 20);
    CHECK(map.segments[0].block_bytes == 60);
    CHECK(map.segments[1].unlisted_bytes == 30);
    CHECK(map.segments[1].unlisted_count == 1);
    CHECK(map.segments[1].largest_hole_bytes == 870);
    REQUIRE(map.blocks.size() == 2);
    CHECK(map.blocks[0].address == 2500);
    CHECK(map.blocks[1].bytes == 100);
    CHECK(map.outside_bytes == 7);
    CHECK(map.outside_count == 1);
}

TEST_CASE("a segment of cudaMalloc is not joined with its neighbour", "[page]") {
    SegmentRanges ranges;
    ranges.apply({format::SegmentAction::kAlloc, 0, 0, 0x1000, 0x1000});
    ranges.apply({format::SegmentAction::kAlloc, 0, 0, 0x2000, 0x1000});
    ranges.apply({format::SegmentAction::kMap, 0, 0, 0x3000, 0x1000});
    CHECK(ranges.now().size() == 3);
    ranges.apply({format::SegmentAction::kFree, 0, 0, 0x1000, 0x1000});
    CHECK(ranges.now().size() == 2);
    ranges.apply({format::SegmentAction::kMap, 0, 0, UINT64_MAX, 0x1000});
    CHECK(ranges.now().size() == 2);
}

TEST_CASE("blocks with a deferred free are still in the map", "[page]") {
    const Page page = page_of(OpenTrace(
        "start\n segment 0x1000 4096\n alloc a 0x1000 1024 stack=a.py:1:f thread=1\n defer a\n"
        "alloc b 0x1400 2048 stack=b.py:1:f thread=1\n complete a\n end\n"));
    const MemoryMap peak = state_of(page.map, "peak");
    REQUIRE(peak.blocks.size() == 2);
    CHECK(peak.blocks[0].is_waiting);
    CHECK(!peak.blocks[1].is_waiting);
    CHECK(peak.segments[0].block_bytes == 3072);
    CHECK(state_of(page.map, "end").blocks.size() == 1);
}

}  // namespace
}  // namespace peakline::test
