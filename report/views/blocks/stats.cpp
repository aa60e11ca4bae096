#include "stats.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "via_bytes.h"

namespace peakline::report {
namespace {

uint64_t bytes_of(const AllocationSum& sum, format::Measure measure) {
    return measure == format::Measure::kAllocated ? sum.block_bytes : sum.requested_bytes;
}

BlockGroup group_of(const AllocationSum& sum) {
    BlockGroup group;
    group.context = sum.context;
    group.stream = sum.stream;
    group.device = sum.device;
    return group;
}

std::vector<AllocationSum> shown_sums(const AllocationTotals& totals, BlockFilter& filter) {
    for (const AllocationSum& sum : totals.sums) {
        filter.see(group_of(sum));
    }
    std::vector<AllocationSum> shown;
    std::copy_if(totals.sums.begin(),
                 totals.sums.end(),
                 std::back_inserter(shown),
                 [&filter](const AllocationSum& sum) { return filter.takes(group_of(sum)); });
    return shown;
}

std::deque<AllocatorRow> group_rows(const std::vector<AllocationSum>& sums,
                                    format::Measure measure,
                                    const BlockKeys& keys) {
    std::deque<AllocatorRow> rows;
    std::map<std::vector<std::string>, size_t> row_of_keys;
    std::vector<ViaBytes> via;  // by row
    for (const AllocationSum& sum : sums) {
        KeyedRow keyed = keys.keyed_row(group_of(sum));
        const auto [at, is_new] =
            row_of_keys.try_emplace(keys_of_labels(keyed.labels), rows.size());
        if (is_new) {
            rows.emplace_back().labels = std::move(keyed.labels);
            via.emplace_back();
        }
        AllocatorRow& row = rows[at->second];
        row.bytes += bytes_of(sum, measure);
        row.count += sum.count;
        via[at->second].add(keyed.via, bytes_of(sum, measure), sum.count);
    }
    for (size_t i = 0; i < rows.size(); ++i) {
        rows[i].via = via[i].take();
    }
    return rows;
}

// Largest first; equal ones by their keys.
std::vector<const AllocatorRow*> sorted_by(uint64_t AllocatorRow::*number,
                                           const std::deque<AllocatorRow>& rows) {
    std::vector<const AllocatorRow*> sorted;
    sorted.reserve(rows.size());
    for (const AllocatorRow& row : rows) {
        sorted.push_back(&row);
    }
    std::sort(sorted.begin(), sorted.end(), [number](const AllocatorRow* a, const AllocatorRow* b) {
        return a->*number != b->*number ? a->*number > b->*number
                                        : keys_of_labels(a->labels) < keys_of_labels(b->labels);
    });
    return sorted;
}

std::vector<ThreadRow> thread_rows(const TraceReader& reader,
                                   const std::vector<AllocationSum>& sums,
                                   format::Measure measure) {
    const Definitions& definitions = reader.definitions();
    std::map<uint32_t, ThreadRow> rows;
    for (const AllocationSum& sum : sums) {
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
                  const BlockKeys& keys,
                  BlockFilter& filter) {
    const std::vector<AllocationSum> shown = shown_sums(totals, filter);
    Stats stats;
    stats.rows = group_rows(shown, measure, keys);
    stats.by_bytes = sorted_by(&AllocatorRow::bytes, stats.rows);
    stats.by_count = sorted_by(&AllocatorRow::count, stats.rows);
    stats.threads = thread_rows(reader, shown, measure);
    for (const AllocationSum& sum : totals.sums) {
        stats.allocated_bytes += bytes_of(sum, measure);
        stats.alloc_count += sum.count;
    }
    for (const AllocatorRow& row : stats.rows) {
        stats.shown_bytes += row.bytes;
        stats.shown_count += row.count;
    }
    return stats;
}

}  // namespace peakline::report
