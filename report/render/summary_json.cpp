// `summary` for programs: the facts of the run around the table's own JSON.
#include "json_writer.h"
#include "run_facts.h"
#include "summary_report.h"

namespace peakline::report {
namespace {

void put_device_list(JsonWriter& json,
                     const TraceReader& reader,
                     const std::vector<DeviceTotals>& devices) {
    json.begin_array();
    for (const DeviceTotals& device : devices) {
        json.begin_object().field("device", device.device);
        json.field("peak_bytes", device.peak_bytes);
        json.field("peak_seconds", reader.seconds(device.peak_tick));
        json.field("live_at_end_bytes", device.level_bytes);
        json.field("total_allocated_bytes", device.total_allocated_bytes);
        json.field("alloc_count", device.alloc_count).field("free_count", device.free_count);
        json.end_object();
    }
    json.end_array();
}

}  // namespace

std::string summary_json(const TableReport& report) {
    const TraceHealth& health = report.result.health;
    const bool allocated = report.selection.request.measure == format::Measure::kAllocated;
    JsonWriter json;
    json.begin_object().field("schema_version", 1);
    put_run_facts(json, report.reader);
    json.field("duration_seconds", report.reader.seconds(health.last_tick));
    json.field("event_count", health.event_count);
    json.key("devices").begin_object().key(allocated ? "allocated" : "requested");
    put_device_list(json, report.reader, report.result.devices);
    json.key(allocated ? "requested" : "allocated");
    put_device_list(json, report.reader, report.result.other_measure);
    json.end_object();
    json.key("table").embed(table_json(report));
    json.field("complete", health.complete()).field("problems", health.problems.texts());
    return json.end_object().take();
}

}  // namespace peakline::report
