// `stats` for people.
#include <algorithm>
#include <cstdio>

#include "report/render/facts/coverage.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "stats_report.h"

namespace peakline::report {
namespace {

constexpr size_t kBarWidth = 40;

std::string line(const char* name, uint64_t count) {
    char padded[64];
    std::snprintf(padded, sizeof(padded), "  %-24s", name);
    return count == 0 ? std::string() : padded + format_count(count) + "\n";
}

std::string records_text(const StatsReport& report) {
    const RecordCounts& records = report.totals.records;
    const EventTotals& events = report.totals.events;
    const double bytes_per_event =
        events.event_count == 0
            ? 0
            : static_cast<double>(events.payload_bytes) / static_cast<double>(events.event_count);
    char per_event[32];
    std::snprintf(per_event, sizeof(per_event), "%.2f", bytes_per_event);
    std::string text = "Events: " + format_count(events.event_count) + " in " +
                       format_count(events.chunk_count) + " chunks, " + per_event +
                       " bytes each, " +
                       format_seconds(report.reader.seconds(report.totals.health.last_tick)) + "\n";
    text += line("allocations", records.alloc_class + records.alloc_inline);
    text += line("  of repeated shapes", records.alloc_class);
    text += line("frees", records.free);
    text += line("frees deferred", records.free_deferred);
    text += line("frees completed", records.free_completed);
    text += line("marks", records.mark);
    text += line("segments", records.segment);
    text += line("out of memory", records.out_of_memory);
    return text + line("other", records.other);
}

const SizeHistogram& histogram_of(const StatsReport& report) {
    return report.selection.request.measure == format::Measure::kAllocated
               ? report.totals.block_sizes
               : report.totals.requested_sizes;
}

std::string histogram_text(const SizeHistogram& sizes) {
    const uint64_t most = *std::max_element(sizes.begin(), sizes.end());
    if (most == 0) {
        return {};
    }
    std::string text = "Allocation sizes (each line: below the size shown):\n";
    size_t first = 0;
    while (sizes[first] == 0) {
        ++first;
    }
    size_t last = sizes.size() - 1;
    while (sizes[last] == 0) {
        --last;
    }
    for (size_t i = first; i <= last; ++i) {
        char start[64];
        std::snprintf(start,
                      sizeof(start),
                      "  %9s  %12s  ",
                      format_bytes(uint64_t{1} << i).c_str(),
                      format_count(sizes[i]).c_str());
        const auto width = static_cast<size_t>(static_cast<double>(sizes[i]) * kBarWidth /
                                               static_cast<double>(most));
        text += start + std::string(sizes[i] != 0 && width == 0 ? 1 : width, '#') + "\n";
    }
    return text;
}

std::string rows_text(const StatsReport& report,
                      const char* title,
                      const std::vector<const AllocatorRow*>& rows) {
    std::string text = title;
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const std::string start =
            "  " + format_bytes(rows[i]->bytes) + "  " + format_count(rows[i]->count) + "  ";
        text += row_with_via(report.paths, start, rows[i]->labels, rows[i]->via) + "\n";
    }
    return shown < rows.size() ? text + "  ...\n" : text;
}

std::string threads_text(const StatsReport& report) {
    std::string text = "Threads (bytes, allocations, thread):\n";
    for (const ThreadRow& thread : report.stats.threads) {
        const std::string name =
            thread.kernel_id == 0 ? "not recorded"
                                  : std::to_string(thread.kernel_id) + " " + printable(thread.name);
        text += "  " + format_bytes(thread.bytes) + "  " + format_count(thread.count) + "  " +
                name + "\n";
    }
    return text;
}

std::string phases_text(const StatsReport& report) {
    std::string text;
    for (const std::string& phase : report.totals.phases) {
        text += "  " + printable(phase) + "\n";
    }
    return text.empty() ? text : "Phases:\n" + text;
}

// Counts below are of the kept events only; the recorder counted all of them.
std::string whole_run_text(const StatsReport& report) {
    if (report.reader.checkpoint() == nullptr) {
        return {};
    }
    const AllocationTotals& totals = report.totals;
    return "The whole run: " + format_count(totals.whole_run_allocs) + " allocations, " +
           format_count(totals.whole_run_frees) +
           " frees. The counts below are of the kept events:\n";
}

}  // namespace

std::string stats_text(const StatsReport& report) {
    std::string text = head_text(report.reader) + coverage_text(report.reader) +
                       whole_run_text(report) + records_text(report);
    text += "Allocated over the whole trace: " + format_bytes(report.stats.allocated_bytes) +
            " in " + format_count(report.stats.alloc_count) + " allocations\n";
    text += histogram_text(histogram_of(report)) + where_text(report.selection, report.part);
    text += rows_text(report,
                      "Most bytes over the whole trace (bytes, allocations, location):\n",
                      report.stats.by_bytes);
    text += rows_text(report,
                      "Most allocations over the whole trace (bytes, allocations, location):\n",
                      report.stats.by_count);
    return text + stacks_text(report.reader, report.selection) + threads_text(report) +
           phases_text(report) + unmatched_text(report.unmatched_module_count) +
           health_text(report.totals.health);
}

}  // namespace peakline::report
