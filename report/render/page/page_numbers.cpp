#include "page_numbers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace peakline::report {
namespace {

using Numbers = std::vector<int64_t>;
using NumbersByName = std::map<std::string, Numbers>;

// torch's blocks are multiples of 512 bytes; with --measure requested anything is possible.
constexpr int64_t kBlockUnit = 512;

int64_t in_units(uint64_t bytes, int64_t unit) {
    return static_cast<int64_t>(bytes) / unit;
}

void add_points(const Page& page, int64_t unit, NumbersByName& columns) {
    const auto& points = page.points.points();
    for (const PagePoint& point : points) {
        columns["point_begin"].push_back(static_cast<int64_t>(point.begin_tick));
        columns["point_peak_offset"].push_back(
            static_cast<int64_t>(point.peak_tick - point.begin_tick));
        columns["point_peak"].push_back(in_units(point.peak.bytes, unit));
        columns["point_low"].push_back(in_units(point.min_bytes, unit));
        columns["point_traced"].push_back(point.peak.traced ? 1 : 0);
        if (page.has_reserved) {
            columns["point_reserved"].push_back(in_units(point.max_reserved_bytes, unit));
        }
    }
    for (size_t category = 0; category < page.names.categories.size(); ++category) {
        for (const PagePoint& point : points) {
            columns["point_category"].push_back(in_units(point.categories[category], unit));
        }
    }
}

void add_tree(const PageNames& names, NumbersByName& columns) {
    for (const PageNode& node : names.nodes) {
        columns["node_parent"].push_back(node.parent);
        columns["node_frame"].push_back(node.frame);
    }
    for (const PageContext& context : names.contexts) {
        columns["context_node"].push_back(context.node);
        columns["context_line"].push_back(context.line);
        columns["context_category"].push_back(context.category);
        columns["context_module"].push_back(context.module);
        columns["context_operation"].push_back(context.operation);
        columns["context_phase"].push_back(context.phase);
        columns["context_lifetime"].push_back(context.lifetime);
        columns["context_via"].push_back(context.via);
    }
}

void add_totals(const Page& page, int64_t unit, NumbersByName& columns) {
    const auto add = [&](const std::string& name, const auto& totals) {
        for (size_t i = 0; i < page.names.contexts.size(); ++i) {
            const BytesAndCount one = i < totals.size() ? totals[i] : BytesAndCount();
            columns[name + "_bytes"].push_back(in_units(one.bytes, unit));
            columns[name + "_count"].push_back(static_cast<int64_t>(one.count));
        }
    };
    add("context_allocated", page.totals.allocated);
    add("context_temporary", page.totals.temporary);
    add("context_left", page.totals.left);
}

void add_moments(const PageMoments& moments, int64_t unit, NumbersByName& columns) {
    uint64_t begin = 0;
    for (const PageMoment& moment : moments.moments()) {
        columns["moment_changes"].push_back(static_cast<int64_t>(moment.change_end - begin));
        begin = moment.change_end;
    }
    for (const PageChange& change : moments.changes()) {
        columns["change_context"].push_back(change.context);
        columns["change_bytes"].push_back(change.bytes / unit);
        columns["change_count"].push_back(change.count);
    }
}

void add_segment(const MapSegment& segment, uint64_t listed_count, NumbersByName& columns) {
    const auto add = [&](const char* name, uint64_t number) {
        columns[name].push_back(static_cast<int64_t>(number));
    };
    add("segment_address", segment.range.address);
    add("segment_bytes", segment.range.bytes);
    add("segment_stream", segment.range.stream);
    add("segment_expandable", segment.range.is_expandable ? 1 : 0);
    add("segment_block_bytes", segment.block_bytes);
    add("segment_block_count", segment.block_count);
    add("segment_hole_count", segment.hole_count);
    add("segment_largest_hole", segment.largest_hole_bytes);
    add("segment_unlisted_bytes", segment.unlisted_bytes);
    add("segment_listed_count", listed_count);
}

void add_map(const std::optional<MemoryMap>& map, NumbersByName& columns) {
    size_t begin = 0;
    for (const MapSegment& segment : map.has_value() ? map->segments : std::vector<MapSegment>()) {
        add_segment(segment, segment.block_end - begin, columns);
        for (; begin < segment.block_end; ++begin) {
            const MapBlock& block = map->blocks[begin];
            columns["block_offset"].push_back(
                static_cast<int64_t>(block.address - segment.range.address));
            columns["block_bytes"].push_back(static_cast<int64_t>(block.bytes));
            columns["block_context"].push_back(block.context);
            columns["block_waiting"].push_back(block.is_waiting ? 1 : 0);
        }
    }
}

uint64_t code_columns(const NumbersByName& numbers, CodedColumns& coded) {
    uint64_t bytes = 0;
    for (const PageColumn& column : kPageColumns) {
        const auto found = numbers.find(column.name);
        if (found != numbers.end()) {
            bytes +=
                (coded[column.name] = code_column(column.coding, found->second)).compressed_bytes();
        }
    }
    return bytes;
}

}  // namespace

int64_t unit_of(const Page& page) {
    for (const PageChange& change : page.moments.changes()) {
        if (change.bytes % kBlockUnit != 0) {
            return 1;
        }
    }
    for (const PagePoint& point : page.points.points()) {
        if (point.min_bytes % kBlockUnit != 0 || point.max_reserved_bytes % kBlockUnit != 0) {
            return 1;
        }
    }
    const auto is_odd = [](const auto& one) { return one.bytes % kBlockUnit != 0; };
    const PageTotals& totals = page.totals;
    return std::ranges::any_of(totals.allocated, is_odd) ||
                   std::ranges::any_of(totals.temporary, is_odd) ||
                   std::ranges::any_of(totals.left, is_odd)
               ? 1
               : kBlockUnit;
}

CodedColumns code_within(Page& page, int64_t unit, uint64_t budget_bytes) {
    CodedColumns coded;
    NumbersByName fixed;
    add_points(page, unit, fixed);
    add_tree(page.names, fixed);
    add_totals(page, unit, fixed);
    add_map(page.maps.at_peak, fixed);
    add_map(page.maps.at_end, fixed);
    const uint64_t fixed_bytes = code_columns(fixed, coded);
    for (;;) {
        NumbersByName moments;
        add_moments(page.moments, unit, moments);
        const uint64_t bytes = code_columns(moments, coded);
        if (fixed_bytes + bytes <= budget_bytes || !page.moments.coarsen()) {
            return coded;
        }
    }
}

}  // namespace peakline::report
