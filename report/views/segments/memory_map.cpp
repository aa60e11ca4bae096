#include "memory_map.h"

#include <algorithm>
#include <span>

namespace peakline::report {
namespace {

bool is_larger(const MapBlock& one, const MapBlock& other) {
    return one.bytes != other.bytes ? one.bytes > other.bytes : one.address < other.address;
}

// Measures covered bytes and holes; `blocks` are sorted by address. In a damaged trace they may
// overlap.
void measure(MapSegment& segment, std::span<const MapBlock> blocks) {
    uint64_t covered_to = segment.range.address;
    const auto add_hole = [&](uint64_t bytes) {
        segment.hole_count += bytes != 0 ? 1 : 0;
        segment.largest_hole_bytes = std::max(segment.largest_hole_bytes, bytes);
    };
    for (const MapBlock& block : blocks) {
        if (block.address > covered_to) {
            add_hole(block.address - covered_to);
        }
        const uint64_t begin = std::max(block.address, covered_to);
        const uint64_t end = std::max(block.address + block.bytes, covered_to);
        segment.block_bytes += end - begin;
        covered_to = end;
    }
    add_hole(segment.range.end() - covered_to);
    segment.block_count = blocks.size();
}

bool lies_in(const MapBlock& block, const SegmentRange& range) {
    return block.address >= range.address && block.address < range.end() &&
           block.bytes <= range.end() - block.address;
}

void list(MemoryMap& map,
          MapSegment& segment,
          std::span<const MapBlock> blocks,
          const MapBlock* smallest) {
    for (const MapBlock& block : blocks) {
        if (smallest != nullptr && is_larger(*smallest, block)) {
            segment.unlisted_bytes += block.bytes;
            ++segment.unlisted_count;
        } else {
            map.blocks.push_back(block);
        }
    }
    segment.block_end = map.blocks.size();
}

}  // namespace

MemoryMap make_memory_map(const std::vector<SegmentRange>& segments,
                          std::vector<MapBlock> blocks,
                          size_t max_blocks) {
    struct Filled {
        MapSegment segment;
        std::vector<MapBlock> blocks;
    };
    std::sort(blocks.begin(), blocks.end(), [](const MapBlock& one, const MapBlock& other) {
        return one.address < other.address;
    });
    MemoryMap map;
    std::vector<Filled> filled;
    std::vector<MapBlock> inside;
    size_t next = 0;
    const auto leave_outside = [&](const MapBlock& block) {
        map.outside_bytes += block.bytes;
        ++map.outside_count;
    };
    for (const SegmentRange& range : segments) {
        Filled& one = filled.emplace_back();
        one.segment.range = range;
        for (; next < blocks.size() && blocks[next].address < range.end(); ++next) {
            if (lies_in(blocks[next], range)) {
                one.blocks.push_back(blocks[next]);
                inside.push_back(blocks[next]);
            } else {
                leave_outside(blocks[next]);
            }
        }
        measure(one.segment, one.blocks);
    }
    std::for_each(blocks.begin() + static_cast<std::ptrdiff_t>(next), blocks.end(), leave_outside);
    const MapBlock* smallest = nullptr;
    if (inside.size() > max_blocks && max_blocks > 0) {
        const auto last = inside.begin() + static_cast<std::ptrdiff_t>(max_blocks - 1);
        std::nth_element(inside.begin(), last, inside.end(), is_larger);
        smallest = &*last;
    }
    std::stable_sort(filled.begin(), filled.end(), [](const Filled& one, const Filled& other) {
        return one.segment.range.stream < other.segment.range.stream;
    });
    for (Filled& one : filled) {
        list(map, one.segment, one.blocks, smallest);
        map.segments.push_back(one.segment);
    }
    return map;
}

}  // namespace peakline::report
