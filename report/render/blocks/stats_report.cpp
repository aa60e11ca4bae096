#include "stats_report.h"

#include <algorithm>
#include <cstdio>

#include "report/render/facts/coverage.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

constexpr size_t kBarWidth = 40;

void put_count(DocumentTable& table, const char* name, uint64_t count) {
    if (count != 0) {
        table.add({cell(name), count_cell(count)});
    }
}

void put_records(Document& document, const StatsReport& report) {
    const RecordCounts& records = report.totals.records;
    const EventTotals& events = report.totals.events;
    const double seconds = report.reader.seconds(report.totals.health.last_tick);
    JsonWriter& json = document.fields().field("event_count", events.event_count);
    json.field("chunk_count", events.chunk_count).field("payload_bytes", events.payload_bytes);
    json.field("duration_seconds", seconds).key("records").begin_object();
    json.field("alloc_class", records.alloc_class).field("alloc_inline", records.alloc_inline);
    json.field("free", records.free).field("free_deferred", records.free_deferred);
    json.field("free_completed", records.free_completed).field("mark", records.mark);
    json.field("segment", records.segment).field("out_of_memory", records.out_of_memory);
    json.field("other", records.other).end_object();
    char per_event[32];
    std::snprintf(per_event,
                  sizeof(per_event),
                  "%.2f",
                  events.event_count == 0 ? 0
                                          : static_cast<double>(events.payload_bytes) /
                                                static_cast<double>(events.event_count));
    document.say("Events: " + format_count(events.event_count) + " in " +
                 format_count(events.chunk_count) + " chunks, " + per_event + " bytes each, " +
                 format_seconds(seconds));
    DocumentTable table(document, nullptr, {{nullptr, "", Align::kLeftWhole}, {nullptr, ""}}, 2);
    put_count(table, "allocations", records.alloc_class + records.alloc_inline);
    put_count(table, "  of repeated shapes", records.alloc_class);
    put_count(table, "frees", records.free);
    put_count(table, "frees deferred", records.free_deferred);
    put_count(table, "frees completed", records.free_completed);
    put_count(table, "marks", records.mark);
    put_count(table, "segments", records.segment);
    put_count(table, "out of memory", records.out_of_memory);
    put_count(table, "other", records.other);
}

// People also see empty sizes between others; programs do not get them.
void put_histogram(Document& document, const SizeHistogram& sizes) {
    const uint64_t most = *std::max_element(sizes.begin(), sizes.end());
    document.say(most == 0 ? "" : "Allocation sizes (each line: below the size shown):");
    DocumentTable table(document,
                        "sizes",
                        {{"below_bytes", ""}, {"count", ""}, {nullptr, "", Align::kLeftWhole}},
                        2);
    size_t last = sizes.size();
    while (last != 0 && sizes[last - 1] == 0) {
        --last;
    }
    bool has_begun = false;
    for (size_t i = 0; i < last; ++i) {
        has_begun = has_begun || sizes[i] != 0;
        if (sizes[i] != 0 || (has_begun && document.is_for_people())) {
            const auto width = static_cast<size_t>(static_cast<double>(sizes[i]) * kBarWidth /
                                                   static_cast<double>(most));
            table.add({bytes_cell(uint64_t{1} << i),
                       count_cell(sizes[i]),
                       cell(std::string(sizes[i] != 0 && width == 0 ? 1 : width, '#'))});
        }
    }
}

void put_rows(Document& document,
              const StatsReport& report,
              const char* key,
              const std::vector<const AllocatorRow*>& rows) {
    const uint64_t shown = shown_count(report.top, rows.size());
    DocumentTable table(document,
                        key,
                        {{"bytes", "Bytes"},
                         {"count", "Allocs"},
                         {"key", head_of_keys(report.selection.row_keys), Align::kLeft}},
                        2);
    for (size_t i = 0; i < shown; ++i) {
        JsonWriter& json = table.begin({bytes_cell(rows[i]->bytes),
                                        count_cell(rows[i]->count),
                                        line_cell(report.paths, rows[i]->labels, rows[i]->via)});
        put_keys(json, report.paths, rows[i]->labels);
        put_location_of(json, report.paths, rows[i]->labels);
        put_parts(json, "via", rows[i]->via);
        table.end();
    }
    table.leave_out(rows.size() - shown, "more rows");
}

void put_threads(Document& document, const StatsReport& report) {
    document.say("Threads:");
    DocumentTable table(document,
                        "threads",
                        {{"bytes", "Bytes"},
                         {"count", "Allocs"},
                         {"kernel_id", "Thread"},
                         {"name", "Name", Align::kLeft}},
                        2);
    for (const ThreadRow& thread : report.stats.threads) {
        const Cell id = cell(thread.kernel_id);
        table.add({bytes_cell(thread.bytes),
                   count_cell(thread.count),
                   thread.kernel_id == 0 ? id.shown_as("not recorded") : id,
                   cell(thread.name)});
    }
}

// The other counts are of the kept events only; the recorder counted the whole run.
void put_whole_run(Document& document, const StatsReport& report) {
    const AllocationTotals& totals = report.totals;
    document.fields()
        .key("whole_run")
        .begin_object()
        .field("alloc_count", totals.whole_run_allocs)
        .field("free_count", totals.whole_run_frees)
        .end_object();
    if (report.reader.checkpoint() != nullptr) {
        document.say("The whole run: " + format_count(totals.whole_run_allocs) + " allocations, " +
                     format_count(totals.whole_run_frees) +
                     " frees. The counts below are of the kept events:");
    }
}

void put_facts(JsonWriter& json, const StatsReport& report) {
    json.field("schema_version", 1).field("file", report.reader.name());
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("by", report.selection.by);
    json.field("allocated_bytes", report.stats.allocated_bytes);
    json.field("alloc_count", report.stats.alloc_count);
    put_where(json, report.selection, report.part);
    json.field("where_count", report.stats.shown_count);
    json.field("row_count", static_cast<uint64_t>(report.stats.by_bytes.size()));
    json.field("phases", report.totals.phases);
    json.field("unmatched_modules", report.unmatched_module_count);
    put_coverage(json, report.reader);
}

}  // namespace

void put_stats(Document& document, const StatsReport& report) {
    const bool allocated = report.selection.request.measure == format::Measure::kAllocated;
    put_facts(document.fields(), report);
    document.say_lines(head_text(report.reader));
    document.say_lines(coverage_text(report.reader));
    put_whole_run(document, report);
    put_records(document, report);
    document.say("Allocated over the whole trace: " + format_bytes(report.stats.allocated_bytes) +
                 " in " + format_count(report.stats.alloc_count) + " allocations");
    put_histogram(document, allocated ? report.totals.block_sizes : report.totals.requested_sizes);
    document.say_lines(where_text(report.selection, report.part));
    document.say("Most bytes over the whole trace:");
    put_rows(document, report, "by_bytes", report.stats.by_bytes);
    document.say("Most allocations over the whole trace:");
    put_rows(document, report, "by_count", report.stats.by_count);
    document.say_lines(stacks_text(report.reader, report.selection));
    put_threads(document, report);
    document.say(report.totals.phases.empty() ? "" : "Phases:");
    for (const std::string& phase : report.totals.phases) {
        document.say("  " + phase);
    }
    document.say_lines(unmatched_text(report.unmatched_module_count));
    put_health(document, report.reader, report.totals.health);
}

}  // namespace peakline::report
