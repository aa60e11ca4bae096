#include "outline_report.h"

#include <string_view>

#include "report/render/format/device_json.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "report/views/calls/phases.h"

namespace peakline::report {
namespace {

void put_phases(JsonWriter& json,
                const TraceReader& reader,
                const ReplayResult& result,
                uint32_t slot) {
    json.key("phases").begin_array();
    for (const PhaseTotal& total : total_phases(result.phases.phases, slot)) {
        json.begin_object().field("name", total.name).field("peak_bytes", total.peak_bytes);
        json.field("peak_seconds", reader.seconds(total.peak_tick)).key("peak_step");
        total.peak_step.has_value() ? json.value(*total.peak_step) : json.null();
        json.end_object();
    }
    json.end_array();
}

void put_totals(JsonWriter& json,
                const TraceReader& reader,
                const ReplayResult& result,
                const DeviceTotals& device) {
    put_device(json.begin_object(), device.device, scope_of(result.is_sum));
    json.field("peak_bytes", device.peak_bytes);
    json.field("peak_seconds", reader.seconds(device.peak_tick));
    json.field("total_allocated_bytes", device.total_allocated_bytes);
    put_phases(json, reader, result, result.is_sum ? 0 : device.device);
    json.end_object();
}

void put_rows(JsonWriter& json, const PathDisplay& paths, const OutlineRows& rows) {
    const bool is_by_line = std::string_view(rows.by) == "line";
    json.key(rows.by).begin_array();
    for (const TableRow& row : rows.table.rows) {
        json.begin_object().field("key", label_text(paths, row.labels));
        json.field("bytes", row.bytes).field("count", row.count);
        json.field("median_bytes", row.median_bytes).field("backward_bytes", row.backward_bytes);
        if (is_by_line) {
            put_location_of(json, paths, row.labels);
        }
        json.end_object();
    }
    json.end_array();
}

void put_all_rows(JsonWriter& json, const PathDisplay& paths, const std::vector<OutlineRows>& all) {
    json.begin_object();
    for (const OutlineRows& rows : all) {
        put_rows(json, paths, rows);
    }
    json.end_object();
}

}  // namespace

std::string outline_json(const OutlineReport& report) {
    const auto& [reader, selection, outline, paths] = report;
    const ReplayResult& result = outline.result;
    JsonWriter json;
    json.begin_object().field("schema_version", 1);
    put_run_facts(json, reader);
    json.field("measure", measure_name(selection.request.measure));
    json.key("chosen");
    put_totals(json, reader, result, result.chosen);
    json.key("devices").begin_array();
    for (const DeviceTotals& device : result.devices) {
        if (!result.is_sum) {
            put_totals(json, reader, result, device);
        }
    }
    json.end_array().key("rows");
    put_all_rows(json, paths, outline.rows);
    json.key("rows_of_all");
    if (outline.rows_of_all.empty()) {
        json.null();
    } else {
        put_all_rows(json, paths, outline.rows_of_all);
    }
    json.field("duration_seconds", reader.seconds(result.health.last_tick));
    json.field("clean_end", result.health.clean_end);
    json.field("out_of_memory_count", result.out_of_memory.count);
    put_health(json, reader, result.health);
    return json.end_object().take();
}

}  // namespace peakline::report
