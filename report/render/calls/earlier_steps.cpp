#include "earlier_steps.h"

#include <algorithm>
#include <vector>

namespace peakline::report {
namespace {

constexpr size_t kRowsOfSteps = 8;  // for people; --top 0 shows all

// Consecutive samples, joined.
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

// nullptr: no events were dropped.
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

void put_steps(Document& document, const PhasesReport& report, const Checkpoint& checkpoint) {
    const bool is_short = document.is_for_people() && report.top != 0;
    const std::vector<StepRow> rows =
        step_rows(checkpoint, is_short ? kRowsOfSteps : format::kMostStepSamples);
    document.say(rows.empty() ? "" : "Before the kept events, all GPUs together:");
    DocumentTable table(document,
                        "steps",
                        {{"first_step", "Steps"},
                         hidden("last_step"),
                         {"peak_bytes", "Peak"},
                         {"end_bytes", "At the end"},
                         {"end_seconds", "Ended at"}},
                        2);
    for (const StepRow& row : rows) {
        table.add({cell(row.first_step).shown_as(steps_text(row)),
                   cell(row.last_step),
                   bytes_cell(row.peak_bytes),
                   bytes_cell(row.level_bytes),
                   seconds_cell(report.reader.seconds(row.tick))});
    }
}

void put_named(Document& document, const PhasesReport& report, const Checkpoint& checkpoint) {
    const std::vector<PhaseRow> rows = phase_rows(report, checkpoint);
    document.say(rows.empty() ? "" : "Before the kept events, named by the program:");
    DocumentTable table(
        document,
        "named",
        {{"name", "Phase", Align::kLeft}, {"peak_bytes", "Peak"}, {"peak_seconds", "At"}},
        2);
    for (const PhaseRow& row : rows) {
        table.add({cell(row.name),
                   bytes_cell(row.peak_bytes),
                   seconds_cell(report.reader.seconds(row.peak_tick))});
    }
}

}  // namespace

void put_earlier(Document& document, const PhasesReport& report) {
    const Checkpoint* const checkpoint = earlier_of(report);
    if (checkpoint == nullptr) {
        document.fields().key("earlier").null();
        return;
    }
    document.fields().key("earlier").begin_object();
    document.fields().field("step_count", checkpoint->earlier_step_count());
    put_steps(document, report, *checkpoint);
    put_named(document, report, *checkpoint);
    document.fields().end_object();
}

}  // namespace peakline::report
