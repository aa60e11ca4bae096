#include "page_numbers.h"

#include <algorithm>
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
        columns["point_peak_event"].push_back(static_cast<int64_t>(point.peak_event));
        columns["point_peak"].push_back(in_units(point.peak.bytes, unit));
        columns["point_low"].push_back(in_units(point.min_bytes, unit));
        columns["point_traced"].push_back(point.peak.traced ? 1 : 0);
        if (page.has_reserved) {
            columns["point_reserved"].push_back(in_units(point.max_reserved_bytes, unit));
        }
    }
    for (size_t category = 0; category < page.names.categories().size(); ++category) {
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
        columns["context_via"].push_back(context.via);
    }
    for (size_t key = 0; key < names.keys.size(); ++key) {
        for (const PageContext& context : names.contexts) {
            columns["context_key"].push_back(context.keys[key]);
        }
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

void add_growth(const PageGrowth& growth, int64_t unit, NumbersByName& columns) {
    for (size_t sample = 0; sample < growth.ticks.size(); ++sample) {
        columns["growth_tick"].push_back(static_cast<int64_t>(growth.ticks[sample]));
        columns["growth_level"].push_back(in_units(growth.levels[sample], unit));
        columns["growth_step"].push_back(static_cast<int64_t>(growth.steps[sample]));
    }
    size_t begin = 0;
    for (const size_t end : growth.change_ends) {
        columns["growth_changes"].push_back(static_cast<int64_t>(end - begin));
        begin = end;
    }
    for (const PageChange& change : growth.changes) {
        columns["growth_context"].push_back(change.context);
        columns["growth_bytes"].push_back(change.bytes / unit);
        columns["growth_count"].push_back(change.count);
    }
}

void add_tensors(const Page& page, int64_t unit, NumbersByName& columns) {
    const auto add = [&](const char* name, uint64_t number) {
        columns[name].push_back(static_cast<int64_t>(number));
    };
    const bool has_ticks = page.points.events_per_point() > 1;
    const bool has_savers = page.tensors.savers.size() > 1;
    for (const PageTensor& row : page.tensors.rows) {
        const bool is_freed = row.freed_event != kNeverFreed;
        columns["tensor_bytes"].push_back(in_units(row.bytes, unit));
        add("tensor_context", row.context);
        add("tensor_name", row.name);
        add("tensor_type", row.type);
        add("tensor_freed_by", row.freed_by);
        add("tensor_made", row.made_event);
        add("tensor_lived", is_freed ? row.freed_event - row.made_event : 0);
        if (has_savers) {
            add("tensor_saved_by", row.saved_by);
            add("tensor_saved_tick", row.saved_tick);
        }
        if (has_ticks) {
            add("tensor_made_tick", row.made_tick);
            add("tensor_lived_ticks", is_freed ? row.freed_tick - row.made_tick : 0);
        }
    }
}

void add_pieces(const PageMap& map, NumbersByName& columns) {
    const auto add = [&](const char* name, uint64_t number) {
        columns[name].push_back(static_cast<int64_t>(number));
    };
    for (const StateSegment& piece : map.pieces) {
        const auto pool = std::find(map.pools.begin(), map.pools.end(), piece.pool);
        add("piece_address", piece.address);
        add("piece_bytes", piece.bytes);
        add("piece_unit", piece.unit_bytes);
        add("piece_pool", static_cast<uint64_t>(pool - map.pools.begin()));
        add("piece_stream", piece.stream);
        add("piece_expandable", piece.is_expandable ? 1 : 0);
    }
}

void add_blocks(const PageMap& map, NumbersByName& columns) {
    const auto add = [&](const char* name, uint64_t number) {
        columns[name].push_back(static_cast<int64_t>(number));
    };
    for (const PageMapBlock& block : map.blocks) {
        add("block_address", block.address);
        add("block_bytes", block.bytes);
        add("block_rounding", block.bytes - block.requested_bytes);  // may be negative
        add("block_unsplit", block.bytes - block.rounded_bytes);
        add("block_context", block.context);
        add("block_made", block.made_tick);
        add("block_lived", block.lived_ticks);
    }
}

void add_map(const PageMap& map, NumbersByName& columns) {
    add_pieces(map, columns);
    add_blocks(map, columns);
    int64_t block_count = 0;
    int64_t piece_count = 0;
    for (const PageMapChange& change : map.changes) {
        using Kind = MapChangeKind;
        block_count += change.kind == Kind::kBlock ? 1 : 0;
        piece_count += change.kind == Kind::kPiece ? 1 : 0;
        const bool is_piece = change.kind == Kind::kPiece || change.kind == Kind::kPieceGone;
        const bool is_pool = change.kind == Kind::kPoolUsed || change.kind == Kind::kPoolUnused;
        const auto id = static_cast<int64_t>(change.id);
        columns["map_change"].push_back(static_cast<int64_t>(change.kind));
        columns["map_tick"].push_back(static_cast<int64_t>(change.tick));
        columns["map_back"].push_back(is_pool    ? id
                                      : is_piece ? piece_count - 1 - id
                                                 : block_count - 1 - id);
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
    // Blocks of one context may be odd although their sum is not.
    if (std::ranges::any_of(page.tensors.rows,
                            [](const PageTensor& row) { return row.bytes % kBlockUnit != 0; })) {
        return 1;
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
    add_growth(page.growth, unit, fixed);
    add_tensors(page, unit, fixed);
    add_map(page.map, fixed);
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
