// `summary` for programs: the facts of the run around the table's own JSON.
#include "report/render/facts/coverage.h"
#include "report/render/format/device_json.h"
#include "report/render/format/json_writer.h"
#include "run_facts.h"
#include "summary_report.h"

namespace peakline::report {
namespace {

void put_totals(JsonWriter& json, const TraceReader& reader, const DeviceTotals& device) {
    json.begin_object().field("peak_bytes", device.peak_bytes);
    json.field("peak_seconds", reader.seconds(device.peak_tick));
    json.field("live_at_end_bytes", device.level_bytes);
    json.field("total_allocated_bytes", device.total_allocated_bytes);
    json.field("alloc_count", device.alloc_count).field("free_count", device.free_count);
    json.end_object();
}

void put_peaks(JsonWriter& json, const TableReport& report, const DeviceTotals& device) {
    const bool allocated = report.selection.request.measure == format::Measure::kAllocated;
    const std::string key = "device." + std::to_string(device.device) + ".name";
    const std::string_view name = report.reader.definitions().meta_text(key);
    put_device(json.begin_object(), device.device).key("name");
    name.empty() ? json.null() : json.value(name);
    json.field("peak_bytes", device.peak_bytes);
    json.key(allocated ? "allocated" : "requested");
    put_totals(json, report.reader, device);
    for (const DeviceTotals& other : report.result.other_measure) {
        if (other.device == device.device) {
            json.key(allocated ? "requested" : "allocated");
            put_totals(json, report.reader, other);
        }
    }
    json.end_object();
}

}  // namespace

std::string summary_json(const TableReport& report) {
    const TraceHealth& health = report.result.health;
    JsonWriter json;
    json.begin_object().field("schema_version", 1);
    put_run_facts(json, report.reader);
    put_simulated(json, report.reader);
    put_lines_missing(json, report.reader);
    json.field("duration_seconds", report.reader.seconds(health.last_tick));
    json.field("event_count", health.event_count);
    json.key("devices").begin_array();
    for (const DeviceTotals& device : report.result.devices) {
        put_peaks(json, report, device);
    }
    json.end_array();
    put_coverage(json, report.reader);
    json.key("table").embed(table_json(report));
    json.field("complete", health.complete()).field("problems", health.problems.texts());
    return json.end_object().take();
}

}  // namespace peakline::report
