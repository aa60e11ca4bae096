// `phases` as JSON; JSON.md describes every field.
#include "earlier_steps.h"
#include "phases_report.h"
#include "report/render/format/device_json.h"
#include "report/render/format/json_writer.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

const char* source_name(StepSource source) {
    switch (source) {
        case StepSource::kMarks:
            return "marks";
        case StepSource::kOptimizer:
            return "optimizer";
        case StepSource::kForward:
            return "forward";
        case StepSource::kNone:
            break;
    }
    return "none";
}

void put_interval(JsonWriter& json, const PhasesReport& report, const PhaseInterval& interval) {
    const LevelUse use = interval.uses.of(report.chosen.device);
    json.begin_object().field("name", interval.name).key("step");
    interval.step.has_value() ? json.value(*interval.step) : json.null();
    json.field("depth", interval.depth).key("parent");
    interval.parent != kNoInterval ? json.value(interval.parent) : json.null();
    json.field("thread", report.reader.definitions().threads[interval.thread].kernel_id);
    json.field("begin_seconds", report.reader.seconds(interval.begin_tick));
    json.field("end_seconds", report.reader.seconds(interval.end_tick));
    json.field("begin_bytes", use.begin_bytes).field("end_bytes", use.end_bytes);
    json.field("delta_bytes", static_cast<int64_t>(use.end_bytes - use.begin_bytes));
    json.field("peak_bytes", use.peak_bytes);
    json.field("peak_seconds", report.reader.seconds(use.peak_tick));
    json.field("allocated_bytes", use.allocated_bytes).field("freed_bytes", use.freed_bytes);
    json.field("alloc_count", use.alloc_count).field("free_count", use.free_count);
    json.end_object();
}

void put_list(JsonWriter& json,
              const PhasesReport& report,
              const char* name,
              const std::vector<PhaseInterval>& intervals) {
    json.key(name).begin_array();
    for (const PhaseInterval& interval : intervals) {
        put_interval(json, report, interval);
    }
    json.end_array();
}

void put_totals(JsonWriter& json, const PhasesReport& report) {
    json.key("totals").begin_array();
    for (const PhaseTotal& total : total_phases(report.result.table.phases, report.chosen.device)) {
        json.begin_object().field("name", total.name).field("count", total.count);
        json.field("peak_bytes", total.peak_bytes).key("peak_step");
        total.peak_step.has_value() ? json.value(*total.peak_step) : json.null();
        json.field("peak_seconds", report.reader.seconds(total.peak_tick));
        json.field("allocated_bytes", total.allocated_bytes);
        json.field("freed_bytes", total.freed_bytes);
        json.field("seconds", report.reader.seconds(total.ticks)).end_object();
    }
    json.end_array();
}

void put_notes(JsonWriter& json, const PhasesReport& report) {
    json.field("note_count", report.result.note_count).key("notes").begin_array();
    for (const TraceNote& note : report.result.notes) {
        json.begin_object().field("seconds", report.reader.seconds(note.tick));
        json.field("level_bytes", note.levels.of(report.chosen.device).end_bytes);
        json.field("text", report.reader.definitions().text(note.text)).end_object();
    }
    json.end_array();
}

}  // namespace

std::string phases_json(const PhasesReport& report) {
    const PhaseTable& table = report.result.table;
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    const bool is_sum = report.selection.request.device.kind == DeviceChoiceKind::kAll;
    put_device(json, report.chosen.device, scope_of(is_sum));
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("peak_bytes", report.chosen.peak_bytes);
    json.field("step_source", source_name(table.step_source));
    json.field("last_step_ended", table.last_step_ended);
    put_totals(json, report);
    put_earlier(json, report);
    put_list(json, report, "steps", table.steps);
    put_list(json, report, "phases", table.phases);
    put_list(json, report, "named", table.named);
    put_notes(json, report);
    json.key("devices").begin_array();
    for (const DeviceTotals& device : report.result.devices) {
        put_device(json.begin_object(), device.device, scope_of(is_sum));
        json.field("peak_bytes", device.peak_bytes);
        json.field("level_bytes", device.level_bytes).end_object();
    }
    json.end_array();
    put_health(json, report.reader, report.result.health);
    return json.end_object().take();
}

}  // namespace peakline::report
