// `stats` for programs; JSON.md describes every field.
#include "report/render/facts/coverage.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "stats_report.h"

namespace peakline::report {
namespace {

void put_records(JsonWriter& json, const StatsReport& report) {
    const RecordCounts& records = report.totals.records;
    const EventTotals& events = report.totals.events;
    json.field("event_count", events.event_count).field("chunk_count", events.chunk_count);
    json.field("payload_bytes", events.payload_bytes);
    json.field("duration_seconds", report.reader.seconds(report.totals.health.last_tick));
    json.key("records").begin_object();
    json.field("alloc_class", records.alloc_class).field("alloc_inline", records.alloc_inline);
    json.field("free", records.free).field("free_deferred", records.free_deferred);
    json.field("free_completed", records.free_completed).field("mark", records.mark);
    json.field("segment", records.segment).field("out_of_memory", records.out_of_memory);
    json.field("other", records.other).end_object();
}

void put_histogram(JsonWriter& json, const SizeHistogram& sizes) {
    json.begin_array();
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] != 0) {
            json.begin_object().field("below_bytes", uint64_t{1} << i);
            json.field("count", sizes[i]).end_object();
        }
    }
    json.end_array();
}

void put_rows(JsonWriter& json,
              const StatsReport& report,
              const std::vector<const AllocatorRow*>& rows) {
    const uint64_t shown = shown_count(report.top, rows.size());
    json.begin_array();
    for (size_t i = 0; i < shown; ++i) {
        json.begin_object().field("key", label_text(report.paths, rows[i]->labels));
        put_keys(json, report.paths, rows[i]->labels);
        json.field("bytes", rows[i]->bytes).field("count", rows[i]->count);
        put_location_of(json, rows[i]->labels);
        put_via(json, rows[i]->via);
        json.end_object();
    }
    json.end_array();
}

void put_threads(JsonWriter& json, const StatsReport& report) {
    json.key("threads").begin_array();
    for (const ThreadRow& thread : report.stats.threads) {
        json.begin_object().field("kernel_id", thread.kernel_id).field("name", thread.name);
        json.field("bytes", thread.bytes).field("count", thread.count).end_object();
    }
    json.end_array();
}

}  // namespace

std::string stats_json(const StatsReport& report) {
    const bool allocated = report.selection.request.measure == format::Measure::kAllocated;
    const TraceHealth& health = report.totals.health;
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    put_records(json, report);
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("by", report.selection.by);
    json.field("allocated_bytes", report.stats.allocated_bytes);
    json.field("alloc_count", report.stats.alloc_count);
    put_where(json, report.selection, report.part);
    json.field("where_count", report.stats.shown_count).key("sizes");
    put_histogram(json, allocated ? report.totals.block_sizes : report.totals.requested_sizes);
    json.field("row_count", static_cast<uint64_t>(report.stats.by_bytes.size()));
    json.key("by_bytes");
    put_rows(json, report, report.stats.by_bytes);
    json.key("by_count");
    put_rows(json, report, report.stats.by_count);
    put_threads(json, report);
    json.field("phases", report.totals.phases);
    json.field("unmatched_modules", report.unmatched_module_count);
    put_coverage(json, report.reader);
    json.key("whole_run").begin_object();
    json.field("alloc_count", report.totals.whole_run_allocs);
    json.field("free_count", report.totals.whole_run_frees).end_object();
    json.field("records_dropped", health.records_dropped);
    json.field("complete", health.complete()).field("problems", health.problems.texts());
    put_simulated(json, report.reader);
    put_lines_missing(json, report.reader);
    return json.end_object().take();
}

}  // namespace peakline::report
