#include "advise_report.h"

#include <algorithm>

#include "report/render/format/device_json.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {
namespace {

constexpr size_t kFigureWidth = 14;  // "saves 1.234 GB"

void put_for_programs(JsonWriter& json, const PathDisplay& paths, const Advice& advice) {
    json.begin_object().field("rule", advice.rule).field("kind", cause_kind_name(advice.kind));
    json.field("title", advice.title);
    json.field("saves_bytes", advice.saves_bytes).field("exact", advice.is_exact);
    json.field("held_bytes", advice.held_bytes);
    json.text_or_null("key", label_text(paths, advice.line));
    put_location_of(json, paths, {advice.line});
    json.key("other_keys").begin_array();
    for (const Label& line : advice.other_lines) {
        json.value(label_text(paths, line));
    }
    json.end_array();
    json.text_or_null("evidence", advice.evidence);
    json.text_or_null("change", advice.change).text_or_null("try", advice.attempt).end_object();
}

std::string figure_of(const Advice& advice) {
    std::string figure = advice.saves_bytes.has_value()
                             ? "saves " + format_bytes(*advice.saves_bytes)
                             : "holds " + format_bytes(advice.held_bytes);
    return figure.insert(0, kFigureWidth - std::min(kFigureWidth, figure.size()), ' ');
}

// Shows an empty line, then the figure beside the sentences of one piece of advice.
void show(Document& document, const PathDisplay& paths, const Advice& advice) {
    std::vector<CellLine> lines = {{advice.title}};
    if (const std::string line = label_text(paths, advice.line); !line.empty()) {
        lines.push_back({"at " + line, true});
    }
    for (const Label& other : advice.other_lines) {
        lines.push_back({"and at " + label_text(paths, other), true});
    }
    lines.push_back({advice.evidence});
    if (!advice.change.empty()) {
        lines.push_back({"-> " + advice.change});
    }
    document.show_empty_line();
    DocumentTable table(document, nullptr, {{nullptr, ""}, {nullptr, "", Align::kWrapped}});
    table.add({cell(figure_of(advice)), lines_cell(lines)});
}

std::string peak_text(const AdviseReport& report) {
    const AdviceReport& found = report.found;
    std::string text = "Peak: " + format_bytes(found.device.peak_bytes);
    text += found.is_sum ? ", all devices" : ", " + device_name(found.device.device);
    text += found.phase.empty() ? "" : ", in " + found.phase;
    return text + (found.step.has_value() ? " of step " + std::to_string(*found.step) : "");
}

// Explains "saves" and "holds", each only if it is shown.
void put_legend(Document& document, const std::vector<Advice>& shown) {
    const auto has_figure = [](const Advice& one) { return one.saves_bytes.has_value(); };
    const bool has_known = std::any_of(shown.begin(), shown.end(), has_figure);
    const bool has_bound = !std::all_of(shown.begin(), shown.end(), has_figure);
    document.say_lines(shown.empty() ? "" : "\n");
    document.say(has_known ? "saves: the peak falls by so much, by this change alone (the "
                             "recording, replayed)"
                           : "");
    document.say(has_bound ? "holds: so much is live at the peak; what a change saves, only a run "
                             "can say"
                           : "");
}

}  // namespace

void put_pieces_of_advice(JsonWriter& json,
                          const PathDisplay& paths,
                          const std::vector<Advice>& advice,
                          uint64_t top) {
    json.begin_array();
    for (size_t i = 0; i < shown_count(top, advice.size()); ++i) {
        put_for_programs(json, paths, advice[i]);
    }
    json.end_array();
}

void put_pieces_of_advice(Document& document,
                          const char* key,
                          const PathDisplay& paths,
                          const std::vector<Advice>& advice,
                          uint64_t top) {
    put_pieces_of_advice(document.fields().key(key), paths, advice, top);
    for (size_t i = 0; i < shown_count(top, advice.size()); ++i) {
        show(document, paths, advice[i]);
    }
}

void put_advise(Document& document, const AdviseReport& report) {
    const AdviceReport& found = report.found;
    const std::vector<Advice>& all = found.advice;
    const uint64_t shown = shown_count(report.top, all.size());
    JsonWriter& json = document.fields().field("schema_version", 1);
    json.field("file", report.reader.name());
    put_device(json, found.device.device, scope_of(found.is_sum));
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("peak_bytes", found.device.peak_bytes);
    json.text_or_null("phase", found.phase).field("step", found.step);
    json.key("tried").begin_array().end_array();
    document.say_lines(head_text(report.reader));
    document.say(peak_text(report));
    document.say(all.empty() ? "No rule finds anything, and no line holds a large part of it."
                             : "");
    const std::vector<Advice> first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown));
    put_legend(document, first);
    put_pieces_of_advice(document, "advice", report.paths, all, report.top);
    if (shown < all.size()) {
        document.show_empty_line();
        document.say("  ... " + std::to_string(all.size() - shown) + " more (--top 0)");
    }
    const bool has_attempt = std::any_of(
        first.begin(), first.end(), [](const Advice& one) { return !one.attempt.empty(); });
    document.say_lines(has_attempt
                           ? "\npeakline advise --try PROGRAM applies what needs no edit, and "
                             "measures it."
                           : "");
    put_coverage_and_health(document, report.reader, found.health);
}

}  // namespace peakline::report
