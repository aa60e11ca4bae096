// `phases` for people.
#include "earlier_steps.h"
#include "phases_report.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/path_display.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {
namespace {

std::string step_text(const std::optional<uint32_t>& step) {
    return step.has_value() ? std::to_string(*step) : "-";
}

std::string steps_line(const PhaseTable& table) {
    const std::string count = std::to_string(table.steps.size());
    if (table.first_step != 0) {
        return "Steps " + std::to_string(table.first_step) + " to " +
               std::to_string(*table.steps.back().step) + " are kept" +
               (table.last_step_ended ? "" : "; the last one did not end") + "\n";
    }
    switch (table.step_source) {
        case StepSource::kMarks:
            return "Steps: " + count + ", as the program marked them\n";
        case StepSource::kOptimizer:
            return count + (table.steps.size() == 1 ? " step (it" : " steps (each") +
                   " ends with optimizer.step())" +
                   (table.last_step_ended ? "" : "; the last one did not end") + "\n";
        case StepSource::kForward:
            return "Steps: " + count + ", one for each outermost forward pass\n";
        case StepSource::kNone:
            break;
    }
    return "Steps: none found; peakline.step() marks them\n";
}

std::string totals_text(const PhasesReport& report, const std::vector<PhaseInterval>& intervals) {
    using enum Align;
    TextColumns columns({kLeft, kRight, kRight, kRight, kRight, kRight, kRight},
                        {"Phase", "Count", "Peak", "At step", "Allocated", "Freed", "Time"});
    for (const PhaseTotal& total : total_phases(intervals, report.chosen.device)) {
        columns.add({total.name,
                     format_count(total.count),
                     format_bytes(total.peak_bytes),
                     step_text(total.peak_step),
                     format_bytes(total.allocated_bytes),
                     format_bytes(total.freed_bytes),
                     format_seconds(report.reader.seconds(total.ticks))});
    }
    return columns.text("  ");
}

std::string devices_text(const std::vector<DeviceTotals>& devices) {
    using enum Align;
    TextColumns columns({kRight, kRight, kRight}, {"Device", "Peak", "At the end"});
    for (const DeviceTotals& device : devices) {
        columns.add({device_word(device.device),
                     format_bytes(device.peak_bytes),
                     format_bytes(device.level_bytes)});
    }
    return columns.text("  ");
}

// Phases of the same name that follow one another within another one are printed once.
std::string intervals_text(const PhasesReport& report,
                           const std::vector<PhaseInterval>& intervals,
                           uint64_t step_end) {
    using enum Align;
    TextColumns columns(
        {kRight, kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kRight},
        {"Step", "Phase", "Before", "After", "Delta", "Peak", "Allocated", "Freed", "Time"});
    for (const PhaseInterval& interval : intervals) {
        if (interval.step.value_or(0) >= step_end) {
            continue;
        }
        const LevelUse use = interval.uses.of(report.chosen.device);
        columns.add(
            {step_text(interval.step),
             indentation(interval.depth) + interval.name,
             format_bytes(use.begin_bytes),
             format_bytes(use.end_bytes),
             format_bytes(static_cast<int64_t>(use.end_bytes - use.begin_bytes)),
             format_bytes(use.peak_bytes),
             format_bytes(use.allocated_bytes),
             format_bytes(use.freed_bytes),
             format_seconds(report.reader.seconds(interval.end_tick - interval.begin_tick))});
    }
    return columns.text("  ");
}

std::string notes_text(const PhasesReport& report) {
    using enum Align;
    const std::vector<TraceNote>& notes = report.result.notes;
    const uint64_t shown = shown_count(report.top, notes.size());
    TextColumns columns({kRight, kRight, kLeft}, {"Time", "Level", "Note"});
    for (size_t i = 0; i < shown; ++i) {
        columns.add({format_seconds(report.reader.seconds(notes[i].tick)),
                     format_bytes(notes[i].levels.of(report.chosen.device).end_bytes),
                     std::string(report.reader.definitions().text(notes[i].text))});
    }
    const uint64_t left = report.result.note_count - shown;
    return "Notes of the program:\n" + columns.text("  ") +
           (left == 0 ? "" : "  ... " + format_count(left) + " more notes (--top 0)\n");
}

}  // namespace

std::string phases_text(const PhasesReport& report) {
    const PhaseTable& table = report.result.table;
    const uint64_t step_count = table.steps.size();
    const uint64_t shown = shown_count(report.top, step_count);
    const uint64_t step_end = shown == step_count ? UINT64_MAX : table.first_step + shown;
    const std::vector<PhaseInterval> phases =
        with_gaps(table.phases,
                  report.chosen.device,
                  {report.chosen.level_bytes, report.result.health.last_tick});
    std::string text = head_text(report.reader);
    text += "Max mem: " + format_bytes(report.chosen.peak_bytes) + "\n" + steps_line(table);
    text += earlier_text(report);
    text += std::string(table.earlier_steps == 0 ? "Over all steps" : "Over the kept steps") +
            ":\n" + totals_text(report, phases);
    text += "Phase by phase:\n" + intervals_text(report, phases, step_end);
    if (shown < step_count) {
        text += "  ... " + std::to_string(step_count - shown) + " more steps (--top 0)\n";
    }
    if (!table.named.empty()) {
        text += "Named by the program:\n" + intervals_text(report, table.named, step_end);
    }
    if (!report.result.notes.empty()) {
        text += notes_text(report);
    }
    if (report.result.devices.size() > 1) {
        text += "Devices:\n" + devices_text(report.result.devices);
    }
    return text + health_text(report.result.health);
}

}  // namespace peakline::report
