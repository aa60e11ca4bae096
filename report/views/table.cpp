#include "table.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "check_sum.h"
#include "via_bytes.h"

namespace peakline::report {
namespace {

// Wraps around instead of being undefined: the sizes of a hostile trace may be anything.
int64_t add_bytes(int64_t sum, uint64_t bytes) {
    return static_cast<int64_t>(static_cast<uint64_t>(sum) + bytes);
}

struct SizedBlocks {
    uint64_t bytes;
    uint64_t count;
};

struct OpenRow {
    TableRow row;
    std::vector<SizedBlocks> blocks;
    ViaBytes via;
};

class TableBuilder {
public:
    TableBuilder(format::Measure measure, const Grouping& grouping, StackLookup& stacks)
        : measure_(measure), grouping_(grouping), stacks_(stacks) {}

    void add(const BlockGroup& group) {
        const Place& place = place_of(group);
        OpenRow& open = rows_[place.row];
        const uint64_t block_bytes =
            measure_ == format::Measure::kAllocated ? group.block_bytes : group.requested_bytes;
        const uint64_t bytes = block_bytes * group.count;
        open.blocks.push_back({block_bytes, group.count});
        open.row.bytes = add_bytes(open.row.bytes, bytes);
        open.row.count += group.count;
        open.row.backward_bytes += place.through_forward ? bytes : 0;
        open.via.add(place.via, bytes, group.count);
    }

    void add_unknown(int64_t bytes) {
        if (bytes != 0) {
            OpenRow open;
            open.row.label.key = open.row.label.name = "unknown (counted, not recorded)";
            open.row.bytes = bytes;
            rows_.push_back(std::move(open));
        }
    }

    std::vector<TableRow> take_rows();

private:
    struct Place {
        size_t row;
        bool through_forward;
        std::string via;
    };

    const Place& place_of(const BlockGroup& group) {
        const std::tuple place_key{
            group.context, group.stream, group.device, group.tensor, group.facet};
        const auto known = places_.find(place_key);
        if (known != places_.end()) {
            return known->second;
        }
        Placement placement = grouping_.place(stacks_, group);
        const auto [at, is_new] = row_of_key_.try_emplace(placement.label.key, rows_.size());
        if (is_new) {
            rows_.emplace_back().row.label = std::move(placement.label);
        }
        return places_[place_key] = {
                   at->second, placement.through_forward, std::move(placement.via)};
    }

    format::Measure measure_;
    const Grouping& grouping_;
    StackLookup& stacks_;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, Facet>, Place> places_;
    std::unordered_map<std::string, size_t> row_of_key_;
    std::vector<OpenRow> rows_;
};

// Half of the blocks, rounded down, are smaller or stand before it.
uint64_t upper_median(std::vector<SizedBlocks>& blocks, uint64_t count) {
    std::sort(blocks.begin(), blocks.end(), [](const SizedBlocks& a, const SizedBlocks& b) {
        return a.bytes < b.bytes;
    });
    uint64_t before = 0;
    for (const SizedBlocks& block : blocks) {
        before += block.count;
        if (before > count / 2) {
            return block.bytes;
        }
    }
    return 0;
}

std::vector<TableRow> TableBuilder::take_rows() {
    std::vector<TableRow> rows;
    rows.reserve(rows_.size());
    for (OpenRow& open : rows_) {
        open.row.via = open.via.take();
        open.row.median_bytes = upper_median(open.blocks, open.row.count);
        rows.push_back(std::move(open.row));
    }
    std::sort(rows.begin(), rows.end(), [](const TableRow& a, const TableRow& b) {
        return std::tie(b.bytes, a.label.key) < std::tie(a.bytes, b.label.key);
    });
    return rows;
}

}  // namespace

Table build_table(const LiveBlocks& blocks,
                  format::Measure measure,
                  const Grouping& grouping,
                  StackLookup& stacks) {
    TableBuilder builder(measure, grouping, stacks);
    for (const BlockGroup& group : blocks.groups) {
        builder.add(group);
    }
    builder.add_unknown(blocks.unknown_bytes);
    Table table;
    table.rows = builder.take_rows();
    table.total_bytes = blocks.level_bytes;
    int64_t cumulative = 0;
    for (TableRow& row : table.rows) {
        cumulative = add_bytes(cumulative, static_cast<uint64_t>(row.bytes));
        row.cumulative_bytes = cumulative;
        row.share = table.total_bytes == 0
                        ? 0
                        : static_cast<double>(row.bytes) / static_cast<double>(table.total_bytes);
        if (row.label.name == kUntracedName) {
            table.untraced_bytes += static_cast<uint64_t>(row.bytes);
        }
    }
    check_sum("rows", static_cast<uint64_t>(cumulative), table.total_bytes);
    return table;
}

}  // namespace peakline::report
