#include "earlier_steps.h"

#include <algorithm>
#include <vector>

#include "report/render/format/format_bytes.h"
#include "report/render/format/path_display.h"
#include "report/render/format/text_columns.h"

namespace peakline::report {
namespace {

constexpr size_t kRowsOfSteps = 8;  // unless all are asked for

// Samples that follow one another, as one.
struct StepRow {
    uint64_t first_step = 0;
    uint64_t last_step = 0;
    uint64_t tick = 0;  // of the end
    uint64_t peak_bytes = 0;
    uint64_t level_bytes = 0;
};

struct PhaseRow {
    std::string name;
    uint64_t peak_bytes = 0;
    uint64_t peak_tick = 0;
};

// nullptr: there are none, or the events tell.
const Checkpoint* earlier_of(const PhasesReport& report) {
    const Checkpoint* const checkpoint = report.reader.checkpoint();
    return checkpoint != nullptr && checkpoint->first_event != 0 ? checkpoint : nullptr;
}

std::vector<StepRow> step_rows(const Checkpoint& checkpoint, size_t most) {
    std::vector<StepRow> rows;
    if (checkpoint.earlier_step_count() == 0) {
        return rows;
    }
    const std::vector<StepSample>& samples = checkpoint.steps->samples;
    const size_t in_row = (samples.size() + most - 1) / most;
    for (size_t i = 0; i < samples.size(); ++i) {
        if (i % in_row == 0) {
            rows.emplace_back().first_step = checkpoint.steps->first_step_of(i);
        }
        StepRow& row = rows.back();
        row.last_step = checkpoint.steps->last_step_of(i);
        row.tick = samples[i].tick;
        row.peak_bytes = std::max(row.peak_bytes, samples[i].peak_bytes);
        row.level_bytes = samples[i].level_bytes;
    }
    return rows;
}

std::vector<PhaseRow> phase_rows(const PhasesReport& report, const Checkpoint& checkpoint) {
    std::vector<PhaseRow> rows;
    const format::Measure measure = report.selection.request.measure;
    for (const PhaseSummary& phase : checkpoint.phases) {
        const SummaryView* const view = find_view(phase.views, report.chosen.device, measure);
        if (view != nullptr && view->peak_bytes != 0) {
            rows.push_back({std::string(report.reader.definitions().text(phase.name)),
                            view->peak_bytes,
                            view->peak_tick});
        }
    }
    return rows;
}

std::string steps_text(const StepRow& row) {
    const std::string first = format_count(row.first_step);
    return row.first_step == row.last_step ? first : first + " to " + format_count(row.last_step);
}

}  // namespace

std::string earlier_text(const PhasesReport& report) {
    using enum Align;
    const Checkpoint* const checkpoint = earlier_of(report);
    if (checkpoint == nullptr) {
        return {};
    }
    std::string text;
    const size_t most = report.top == 0 ? format::kMostStepSamples : kRowsOfSteps;
    const std::vector<StepRow> steps = step_rows(*checkpoint, most);
    TextColumns step_columns({kRight, kRight, kRight, kRight},
                             {"Steps", "Peak", "At the end", "Ended at"});
    for (const StepRow& row : steps) {
        step_columns.add({steps_text(row),
                          format_bytes(row.peak_bytes),
                          format_bytes(row.level_bytes),
                          format_seconds(report.reader.seconds(row.tick))});
    }
    if (!steps.empty()) {
        text += "Before the kept events, all GPUs together:\n" + step_columns.text("  ");
    }
    const std::vector<PhaseRow> phases = phase_rows(report, *checkpoint);
    TextColumns phase_columns({kLeft, kRight, kRight}, {"Phase", "Peak", "At"});
    for (const PhaseRow& row : phases) {
        phase_columns.add({row.name,
                           format_bytes(row.peak_bytes),
                           format_seconds(report.reader.seconds(row.peak_tick))});
    }
    if (!phases.empty()) {
        text += "Before the kept events, named by the program:\n" + phase_columns.text("  ");
    }
    return text;
}

void put_earlier(JsonWriter& json, const PhasesReport& report) {
    const Checkpoint* const checkpoint = earlier_of(report);
    json.key("earlier");
    if (checkpoint == nullptr) {
        json.null();
        return;
    }
    json.begin_object().field("step_count", checkpoint->earlier_step_count());
    json.key("steps").begin_array();
    for (const StepRow& row : step_rows(*checkpoint, format::kMostStepSamples)) {
        json.begin_object().field("first_step", row.first_step).field("last_step", row.last_step);
        json.field("end_seconds", report.reader.seconds(row.tick));
        json.field("peak_bytes", row.peak_bytes).field("end_bytes", row.level_bytes).end_object();
    }
    json.end_array().key("named").begin_array();
    for (const PhaseRow& row : phase_rows(report, *checkpoint)) {
        json.begin_object().field("name", row.name).field("peak_bytes", row.peak_bytes);
        json.field("peak_seconds", report.reader.seconds(row.peak_tick)).end_object();
    }
    json.end_array().end_object();
}

}  // namespace peakline::report
