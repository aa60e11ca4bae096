#include "stats.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "via_bytes.h"

namespace peakline::report {
namespace {

uint64_t bytes_of(const AllocationSum& sum, format::Measure measure) {
    return measure == format::Measure::kAllocated ? sum.block_bytes : sum.requested_bytes;
}

std::deque<AllocatorRow> group_rows(const AllocationTotals& totals,
                                    format::Measure measure,
                                    const Grouping& grouping,
                                    StackLookup& stacks) {
    std::deque<AllocatorRow> rows;
    std::unordered_map<std::string_view, AllocatorRow*> by_key;  // the key of the row's own label
    std::unordered_map<AllocatorRow*, ViaBytes> via;
    for (const AllocationSum& sum : totals.sums) {
        BlockGroup group;
        group.context = sum.context;
        group.stream = sum.stream;
        group.device = sum.device;
        Placement placement = grouping.place(stacks, group);
        const auto known = by_key.find(placement.label.key);
        AllocatorRow& row = known != by_key.end() ? *known->second : rows.emplace_back();
        if (known == by_key.end()) {
            row.label = std::move(placement.label);
            by_key.emplace(row.label.key, &row);
        }
        row.bytes += bytes_of(sum, measure);
        row.count += sum.count;
        via[&row].add(placement.via, bytes_of(sum, measure), sum.count);
    }
    for (AllocatorRow& row : rows) {
        row.via = via[&row].take();
    }
    return rows;
}

// Largest first; among equals in the order of their keys.
std::vector<const AllocatorRow*> sorted_by(uint64_t AllocatorRow::*number,
                                           const std::deque<AllocatorRow>& rows) {
    std::vector<const AllocatorRow*> sorted;
    sorted.reserve(rows.size());
    for (const AllocatorRow& row : rows) {
        sorted.push_back(&row);
    }
    std::sort(sorted.begin(), sorted.end(), [number](const AllocatorRow* a, const AllocatorRow* b) {
        return a->*number != b->*number ? a->*number > b->*number : a->label.key < b->label.key;
    });
    return sorted;
}

std::vector<ThreadRow> thread_rows(const TraceReader& reader,
                                   const AllocationTotals& totals,
                                   format::Measure measure) {
    const Definitions& definitions = reader.definitions();
    std::map<uint32_t, ThreadRow> rows;
    for (const AllocationSum& sum : totals.sums) {
        const uint32_t id = definitions.contexts[sum.context].thread;
        ThreadRow& row = rows[id];
        row.kernel_id = definitions.threads[id].kernel_id;
        row.name = definitions.text(definitions.threads[id].name);
        row.bytes += bytes_of(sum, measure);
        row.count += sum.count;
    }
    std::vector<ThreadRow> list;
    list.reserve(rows.size());
    for (auto& [id, row] : rows) {
        list.push_back(std::move(row));
    }
    std::sort(list.begin(), list.end(), [](const ThreadRow& a, const ThreadRow& b) {
        return std::tie(b.bytes, a.kernel_id) < std::tie(a.bytes, b.kernel_id);
    });
    return list;
}

}  // namespace

Stats build_stats(const TraceReader& reader,
                  const AllocationTotals& totals,
                  format::Measure measure,
                  const Grouping& grouping,
                  StackLookup& stacks) {
    Stats stats;
    stats.rows = group_rows(totals, measure, grouping, stacks);
    stats.by_bytes = sorted_by(&AllocatorRow::bytes, stats.rows);
    stats.by_count = sorted_by(&AllocatorRow::count, stats.rows);
    stats.threads = thread_rows(reader, totals, measure);
    for (const AllocatorRow& row : stats.rows) {
        stats.allocated_bytes += row.bytes;
        stats.alloc_count += row.count;
    }
    return stats;
}

}  // namespace peakline::report
