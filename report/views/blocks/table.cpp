#include "table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "median.h"
#include "report/views/selection/block_filter.h"
#include "report/views/selection/check_sum.h"
#include "via_bytes.h"

namespace peakline::report {
namespace {

// Wraps around instead of overflowing, because a hostile trace may have any sizes.
int64_t add_bytes(int64_t sum, uint64_t bytes) {
    return static_cast<int64_t>(static_cast<uint64_t>(sum) + bytes);
}

struct OpenRow {
    TableRow row;
    std::vector<CountedValue> blocks;
    ViaBytes via;
    ViaBytes callers;
};

class TableBuilder {
public:
    TableBuilder(format::Measure measure, const BlockKeys& keys) : measure_(measure), keys_(keys) {}

    void add(const BlockGroup& group) {
        const RowOfGroup& row = row_of(group);
        OpenRow& open = rows_[row.row];
        const uint64_t block_bytes =
            measure_ == format::Measure::kAllocated ? group.block_bytes : group.requested_bytes;
        const uint64_t bytes = block_bytes * group.count;
        open.blocks.push_back({block_bytes, group.count});
        open.row.bytes = add_bytes(open.row.bytes, bytes);
        open.row.count += group.count;
        open.row.backward_bytes += row.through_forward ? bytes : 0;
        open.via.add(row.via, bytes, group.count);
        open.callers.add(row.caller, bytes, group.count);
        untraced_bytes_ += is_untraced(keys_.stacks(), group) ? bytes : 0;
    }

    void add_unknown(const LiveBlocks& blocks) {
        if (blocks.unknown_bytes != 0) {
            OpenRow open;
            open.row.labels.assign(keys_.row_key_count(), unknown_label(blocks));
            open.row.bytes = blocks.unknown_bytes;
            rows_.push_back(std::move(open));
        }
    }

    uint64_t untraced_bytes() const { return untraced_bytes_; }
    std::vector<TableRow> take_rows();

private:
    struct RowOfGroup {
        size_t row = 0;
        bool through_forward = false;
        std::string via;
        std::string caller;
    };

    const RowOfGroup& row_of(const BlockGroup& group) {
        const auto [known, is_new_group] = row_of_groups_.try_emplace(key_of_group(group));
        if (!is_new_group) {
            return known->second;
        }
        KeyedRow keyed = keys_.keyed_row(group);
        const auto [at, is_new] =
            row_of_keys_.try_emplace(keys_of_labels(keyed.labels), rows_.size());
        if (is_new) {
            rows_.emplace_back().row.labels = std::move(keyed.labels);
        }
        known->second = {
            at->second, keyed.through_forward, std::move(keyed.via), std::move(keyed.caller)};
        return known->second;
    }

    format::Measure measure_;
    const BlockKeys& keys_;
    std::map<GroupKey, RowOfGroup> row_of_groups_;
    std::map<std::vector<std::string>, size_t> row_of_keys_;
    std::vector<OpenRow> rows_;
    uint64_t untraced_bytes_ = 0;
};

std::vector<TableRow> TableBuilder::take_rows() {
    std::vector<TableRow> rows;
    rows.reserve(rows_.size());
    for (OpenRow& open : rows_) {
        open.row.via = open.via.take();
        open.row.callers = open.callers.take();
        open.row.median_bytes = median_of(open.blocks);
        rows.push_back(std::move(open.row));
    }
    std::sort(rows.begin(), rows.end(), [](const TableRow& a, const TableRow& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes
                                  : keys_of_labels(a.labels) < keys_of_labels(b.labels);
    });
    return rows;
}

}  // namespace

Table build_table(const LiveBlocks& blocks, format::Measure measure, const BlockKeys& keys) {
    TableBuilder builder(measure, keys);
    for (const BlockGroup& group : blocks.groups) {
        builder.add(group);
    }
    builder.add_unknown(blocks);
    Table table;
    table.rows = builder.take_rows();
    table.total_bytes = blocks.level_bytes;
    table.untraced_bytes = builder.untraced_bytes();
    int64_t cumulative = 0;
    for (TableRow& row : table.rows) {
        cumulative = add_bytes(cumulative, static_cast<uint64_t>(row.bytes));
        row.cumulative_bytes = cumulative;
        row.share = table.total_bytes == 0
                        ? 0
                        : static_cast<double>(row.bytes) / static_cast<double>(table.total_bytes);
    }
    table.shown_bytes = static_cast<uint64_t>(cumulative);
    check_sum("rows", table.shown_bytes + blocks.left_out_bytes, table.total_bytes);
    return table;
}

}  // namespace peakline::report
