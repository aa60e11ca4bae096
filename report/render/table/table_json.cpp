// The table as JSON; JSON.md describes every field.
#include "report/render/facts/coverage.h"
#include "report/render/facts/value_reads.h"
#include "report/render/format/device_json.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "run_facts.h"
#include "table_report.h"

namespace peakline::report {
namespace {

// The frames of the key that is a stack; nullptr: no key is.
const std::vector<Location>* stack_of(const TableReport& report, const TableRow& row) {
    const auto& keys = report.selection.row_keys;
    for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] == "stack" || keys[i] == "node-stack") {
            return &row.labels[i].frames;
        }
    }
    return nullptr;
}

void put_row(JsonWriter& json, const TableReport& report, const TableRow& row) {
    json.begin_object();
    json.field("key", label_text(report.paths, row.labels));
    put_keys(json, report.paths, row.labels);
    json.field("bytes", row.bytes).field("cumulative_bytes", row.cumulative_bytes);
    json.field("median_bytes", row.median_bytes).field("count", row.count);
    json.field("backward_bytes", row.backward_bytes).field("share", row.share);
    put_location_of(json, row.labels);
    put_via(json, row.via);
    if (const std::vector<Location>* stack = stack_of(report, row)) {
        json.key("stack").begin_array();
        for (const Location& location : *stack) {
            put_location(json, location);
        }
        json.end_array();
    }
    json.end_object();
}

void put_outside(JsonWriter& json, const TableReport& report) {
    json.key("outside");
    if (!report.outside) {
        json.null();
        return;
    }
    json.begin_object().field("bytes", report.outside->bytes).key("parts").begin_array();
    for (const OutsidePart& part : report.outside->parts) {
        json.begin_object().field("name", printable(part.name));
        json.field("bytes", part.bytes).end_object();
    }
    json.end_array().end_object();
}

void put_pinned(JsonWriter& json, const TableReport& report) {
    json.key("pinned");
    if (!report.pinned) {
        json.null();
        return;
    }
    json.begin_object().field("given_bytes", report.pinned->given_bytes);
    json.field("least_asked_bytes", report.pinned->least_asked_bytes);
    json.field("most_asked_bytes", report.pinned->most_asked_bytes).end_object();
}

void put_devices(JsonWriter& json, const TableReport& report) {
    json.key("devices").begin_array();
    for (const DeviceTotals& device : report.result.devices) {
        put_device(json.begin_object(), device.device);
        json.field("peak_bytes", device.peak_bytes);
        json.field("peak_seconds", report.reader.seconds(device.peak_tick));
        json.field("total_allocated_bytes", device.total_allocated_bytes).end_object();
    }
    json.end_array();
}

}  // namespace

void put_location(JsonWriter& json, const Location& location) {
    json.begin_object().field("file", location.file).key("line");
    location.line != 0 ? json.value(location.line) : json.null();
    json.key("function");
    location.function.empty() ? json.null() : json.value(location.function);
    json.key("qualified_name");
    location.qualified_name.empty() ? json.null() : json.value(location.qualified_name);
    json.field("native", location.is_native).end_object();
}

void put_location_of(JsonWriter& json, const std::vector<Label>& labels) {
    json.key("location");
    if (const Location* const location = location_of_labels(labels)) {
        put_location(json, *location);
    } else {
        json.null();
    }
}

void put_out_of_memory(JsonWriter& json, const TableReport& report) {
    const OutOfMemory& facts = report.out_of_memory.facts;
    json.key("out_of_memory");
    if (facts.count == 0) {
        json.null();
        return;
    }
    json.begin_object().field("count", facts.count);
    json.field("seconds", report.reader.seconds(facts.tick)).field("device", facts.device);
    json.field("requested_bytes", facts.requested_bytes).field("free_bytes", facts.free_bytes);
    json.field("key", label_text(report.paths, report.out_of_memory.line)).key("location");
    const auto& frames = report.out_of_memory.line.frames;
    if (frames.empty()) {
        json.null();
    } else {
        put_location(json, frames.front());
    }
    json.end_object();
}

void put_via(JsonWriter& json, const std::vector<ViaPart>& via) {
    json.key("via").begin_array();
    for (const ViaPart& part : via) {
        json.begin_object().key("name");
        part.name.empty() ? json.null() : json.value(part.name);
        json.field("bytes", part.bytes).field("count", part.count).end_object();
    }
    json.end_array();
}

void put_keys(JsonWriter& json, const PathDisplay& paths, const std::vector<Label>& labels) {
    json.key("keys").begin_array();
    for (const Label& label : labels) {
        json.value(label_text(paths, label));
    }
    json.end_array();
}

void put_health(JsonWriter& json, const TraceReader& reader, const TraceHealth& health) {
    json.field("records_dropped", health.records_dropped);
    json.field("bytes_dropped", health.bytes_dropped);
    json.field("complete", health.complete()).field("problems", health.problems.texts());
    put_simulated(json, reader);
    put_lines_missing(json, reader);
}

std::string table_json(const TableReport& report) {
    const Selection& selection = report.selection;
    const DeviceTotals& chosen = report.result.chosen;
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    json.field("peak_bytes", chosen.peak_bytes);
    json.field("peak_seconds", report.reader.seconds(chosen.peak_tick));
    json.field("total_allocated_bytes", chosen.total_allocated_bytes);
    put_device(json, chosen.device, scope_of(report.result.is_sum));
    json.field("measure", measure_name(selection));
    put_moment(json, selection);
    json.field("by", selection.by);
    json.field("frame", frame_choice_name(selection.frames.choice));
    json.field("total_bytes", report.table.total_bytes);
    put_where(json, selection, report.part);
    put_outside(json, report);
    put_pinned(json, report);
    json.field("untraced_bytes", report.table.untraced_bytes);
    json.field("row_count", static_cast<uint64_t>(report.table.rows.size()));
    json.key("rows").begin_array();
    const auto& rows = report.table.rows;
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        put_row(json, report, rows[i]);
    }
    json.end_array();
    json.field("stacks", report.reader.definitions().meta_text("stacks"));
    json.field("unmatched_modules", report.unmatched_module_count);
    put_devices(json, report);
    put_health(json, report.reader, report.result.health);
    const std::string_view stopped = report.reader.definitions().meta_text("stopped_waiting_at");
    json.key("stopped_waiting_at");
    stopped.empty() ? json.null() : json.value(stopped);
    const std::string_view steps = report.reader.definitions().meta_text("ended_after_steps");
    json.key("ended_after_steps");
    steps.empty() ? json.null() : json.value(steps);
    json.text_or_null("recorded_steps", report.reader.definitions().meta_text("recorded_steps"));
    put_out_of_memory(json, report);
    json.key("value_reads");
    put_value_reads(json, report.value_reads, report.paths);
    put_coverage(json, report.reader);
    return json.end_object().take();
}

}  // namespace peakline::report
