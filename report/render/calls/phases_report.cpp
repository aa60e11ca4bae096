#include "phases_report.h"

#include "earlier_steps.h"
#include "report/render/format/device_json.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "report/replay/values/device_names.h"

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

std::string steps_sentence(const PhaseTable& table) {
    const std::string count = std::to_string(table.steps.size());
    const std::string end = table.last_step_ended ? "" : "; the last one did not end";
    if (table.first_step != 0) {
        return "Steps " + std::to_string(table.first_step) + " to " +
               std::to_string(*table.steps.back().step) + " are kept" + end;
    }
    switch (table.step_source) {
        case StepSource::kMarks:
            return "Steps: " + count + ", as the program marked them";
        case StepSource::kOptimizer:
            return count + (table.steps.size() == 1 ? " step (it" : " steps (each") +
                   " ends with optimizer.step())" + end;
        case StepSource::kForward:
            return "Steps: " + count + ", one for each outermost forward pass";
        case StepSource::kNone:
            break;
    }
    return "Steps: none found; peakline.step() marks them";
}

// For programs: the intervals of all steps.
void put_intervals(JsonWriter& json,
                   const PhasesReport& report,
                   const char* name,
                   const std::vector<PhaseInterval>& intervals) {
    json.key(name).begin_array();
    for (const PhaseInterval& interval : intervals) {
        const LevelUse use = interval.uses.of(report.chosen.device);
        json.begin_object().field("name", interval.name).field("step", interval.step);
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
    json.end_array();
}

// For people: the intervals of the first steps.
void show_intervals(Document& document,
                    const PhasesReport& report,
                    const std::vector<PhaseInterval>& intervals,
                    uint64_t left_out_steps) {
    const PhaseTable& phases = report.result.table;
    const uint64_t end =
        left_out_steps == 0 ? UINT64_MAX : phases.first_step + phases.steps.size() - left_out_steps;
    DocumentTable table(document,
                        nullptr,
                        {{nullptr, "Step"},
                         {nullptr, "Phase", Align::kLeft},
                         {nullptr, "Before"},
                         {nullptr, "After"},
                         {nullptr, "Delta"},
                         {nullptr, "Peak"},
                         {nullptr, "Allocated"},
                         {nullptr, "Freed"},
                         {nullptr, "Time"}},
                        2);
    for (const PhaseInterval& interval : intervals) {
        if (interval.step.value_or(0) >= end) {
            continue;
        }
        const LevelUse use = interval.uses.of(report.chosen.device);
        table.add({cell(interval.step),
                   cell(indentation(interval.depth) + interval.name),
                   bytes_cell(use.begin_bytes),
                   bytes_cell(use.end_bytes),
                   bytes_cell(static_cast<int64_t>(use.end_bytes - use.begin_bytes)),
                   bytes_cell(use.peak_bytes),
                   bytes_cell(use.allocated_bytes),
                   bytes_cell(use.freed_bytes),
                   seconds_cell(report.reader.seconds(interval.end_tick - interval.begin_tick))});
    }
    table.leave_out(left_out_steps, "more steps");
}

void put_totals(Document& document,
                const PhasesReport& report,
                const std::vector<PhaseInterval>& intervals) {
    DocumentTable table(document,
                        "totals",
                        {{"name", "Phase", Align::kLeft},
                         {"count", "Count"},
                         {"peak_bytes", "Peak"},
                         {"peak_step", "At step"},
                         {"allocated_bytes", "Allocated"},
                         {"freed_bytes", "Freed"},
                         {"seconds", "Time"},
                         hidden("peak_seconds")},
                        2);
    for (const PhaseTotal& total : total_phases(intervals, report.chosen.device)) {
        table.add({cell(total.name),
                   count_cell(total.count),
                   bytes_cell(total.peak_bytes),
                   cell(total.peak_step),
                   bytes_cell(total.allocated_bytes),
                   bytes_cell(total.freed_bytes),
                   seconds_cell(report.reader.seconds(total.ticks)),
                   cell(report.reader.seconds(total.peak_tick))});
    }
}

// Notes that the program wrote.
void put_notes(Document& document, const PhasesReport& report) {
    const std::vector<TraceNote>& notes = report.result.notes;
    document.fields().field("note_count", report.result.note_count);
    document.say(notes.empty() ? "" : "Notes of the program:");
    const uint64_t shown =
        document.is_for_people() ? shown_count(report.top, notes.size()) : notes.size();
    DocumentTable table(
        document,
        "notes",
        {{"seconds", "Time"}, {"level_bytes", "Level"}, {"text", "Note", Align::kLeft}},
        2);
    for (size_t i = 0; i < shown; ++i) {
        table.add({seconds_cell(report.reader.seconds(notes[i].tick)),
                   bytes_cell(notes[i].levels.of(report.chosen.device).end_bytes),
                   cell(report.reader.definitions().text(notes[i].text))});
    }
    table.leave_out(report.result.note_count - shown, "more notes");
}

void put_devices(Document& document, const PhasesReport& report) {
    const std::vector<DeviceTotals>& devices = report.result.devices;
    if (document.is_for_people() && devices.size() < 2) {
        return;
    }
    document.say("Devices:");
    const bool is_sum = report.selection.request.device.kind == DeviceChoiceKind::kAll;
    DocumentTable table(
        document,
        "devices",
        {{nullptr, "Device"}, {"peak_bytes", "Peak"}, {"level_bytes", "At the end"}},
        2);
    for (const DeviceTotals& device : devices) {
        put_device(table.begin({cell(device_word(device.device)),
                                bytes_cell(device.peak_bytes),
                                bytes_cell(device.level_bytes)}),
                   device.device,
                   scope_of(is_sum));
        table.end();
    }
}

}  // namespace

void put_phases(Document& document, const PhasesReport& report) {
    const PhaseTable& table = report.result.table;
    const uint64_t left_out = table.steps.size() - shown_count(report.top, table.steps.size());
    const bool is_sum = report.selection.request.device.kind == DeviceChoiceKind::kAll;
    JsonWriter& json = document.fields().field("schema_version", 1);
    json.field("file", report.reader.name());
    put_device(json, report.chosen.device, scope_of(is_sum));
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("step_source", source_name(table.step_source));
    json.field("last_step_ended", table.last_step_ended);
    document.say_lines(head_text(report.reader));
    document.show_fact("peak_bytes", "Max mem", bytes_cell(report.chosen.peak_bytes));
    document.say(steps_sentence(table));
    put_earlier(document, report);
    if (document.is_for_people()) {
        const std::vector<PhaseInterval> phases =
            with_gaps(table.phases,
                      report.chosen.device,
                      {report.chosen.level_bytes, report.result.health.last_tick});
        document.say(table.earlier_steps == 0 ? "Over all steps:" : "Over the kept steps:");
        put_totals(document, report, phases);
        document.say("Phase by phase:");
        show_intervals(document, report, phases, left_out);
        document.say(table.named.empty() ? "" : "Named by the program:");
        show_intervals(document, report, table.named, left_out);
    } else {
        put_totals(document, report, table.phases);
        put_intervals(json, report, "steps", table.steps);
        put_intervals(json, report, "phases", table.phases);
        put_intervals(json, report, "named", table.named);
    }
    put_notes(document, report);
    put_devices(document, report);
    put_health(document, report.reader, report.result.health);
}

}  // namespace peakline::report
