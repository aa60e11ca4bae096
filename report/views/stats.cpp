#include "stats.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace peakline::report {
namespace {

uint64_t bytes_of(const AllocationSum& sum, format::Measure measure) {
    return measure == format::Measure::kAllocated ? sum.block_bytes : sum.requested_bytes;
}

std::vector<AllocatorRow> group_rows(const AllocationTotals& totals,
                                     format::Measure measure,
                                     const Grouping& grouping,
                                     StackLookup& stacks) {
    std::map<std::string, AllocatorRow> rows;
    for (const AllocationSum& sum : totals.sums) {
        BlockGroup group;
        group.context = sum.context;
        group.stream = sum.stream;
        group.device = sum.device;
        Placement placement = grouping.place(stacks, group);
        AllocatorRow& row = rows[placement.label.key];
        row.label = std::move(placement.label);
        row.bytes += bytes_of(sum, measure);
        row.count += sum.count;
    }
    std::vector<AllocatorRow> list;
    list.reserve(rows.size());
    for (auto& [key, row] : rows) {
        list.push_back(std::move(row));
    }
    return list;
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
    stats.by_bytes = group_rows(totals, measure, grouping, stacks);
    stats.by_count = stats.by_bytes;
    std::stable_sort(
        stats.by_bytes.begin(),
        stats.by_bytes.end(),
        [](const AllocatorRow& a, const AllocatorRow& b) { return a.bytes > b.bytes; });
    std::stable_sort(
        stats.by_count.begin(),
        stats.by_count.end(),
        [](const AllocatorRow& a, const AllocatorRow& b) { return a.count > b.count; });
    stats.threads = thread_rows(reader, totals, measure);
    for (const AllocatorRow& row : stats.by_bytes) {
        stats.allocated_bytes += row.bytes;
        stats.alloc_count += row.count;
    }
    return stats;
}

}  // namespace peakline::report
