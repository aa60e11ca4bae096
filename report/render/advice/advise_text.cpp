// `advise` for people.
#include <algorithm>
#include <string_view>

#include "advise_report.h"
#include "report/render/facts/coverage.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {
namespace {

constexpr size_t kFigureWidth = 16;  // "saves 1.234 GB", and two spaces
constexpr size_t kLeastWidth = 40;

// Words in lines that are no longer than `width`.
std::vector<std::string> wrapped(std::string_view text, size_t width) {
    std::vector<std::string> lines(1);
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        std::string& line = lines.back();
        if (!line.empty() && line.size() + 1 + word.size() > width) {
            lines.emplace_back(word);
        } else {
            line += (line.empty() ? "" : " ") + std::string(word);
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string figure_of(const Advice& advice) {
    return advice.saves_bytes.has_value() ? "saves " + format_bytes(*advice.saves_bytes)
                                          : "holds " + format_bytes(advice.held_bytes);
}

std::string row_text(const PathDisplay& paths, const Advice& advice) {
    const size_t page = paths.width == 0 ? 80 : paths.width;
    const size_t room = std::max(page, kFigureWidth + kLeastWidth) - kFigureWidth;
    std::vector<std::string> lines = wrapped(printable(advice.title), room);
    const std::string line = printable(label_text(paths, advice.line));
    if (!line.empty()) {
        lines.push_back("at " + line);
    }
    for (const Label& other : advice.other_lines) {
        lines.push_back("and at " + printable(label_text(paths, other)));
    }
    for (const std::string& words : wrapped(printable(advice.evidence), room)) {
        lines.push_back(words);
    }
    if (!advice.change.empty()) {
        for (const std::string& words : wrapped("-> " + advice.change, room)) {
            lines.push_back(words);
        }
    }
    std::string figure = figure_of(advice);
    std::string text;
    for (const std::string& words : lines) {
        figure.insert(0, kFigureWidth - 2 - std::min(kFigureWidth - 2, figure.size()), ' ');
        text.append(figure).append("  ").append(words).append("\n");
        figure.clear();
    }
    return text;
}

std::string peak_text(const AdviseReport& report) {
    const AdviceReport& found = report.found;
    std::string text = "Peak: " + format_bytes(found.device.peak_bytes);
    text += found.is_sum ? ", all devices" : ", " + device_name(found.device.device);
    text += found.phase.empty() ? "" : ", in " + printable(found.phase);
    text += found.step.has_value() ? " of step " + std::to_string(*found.step) : "";
    return text + "\n";
}

// What the two words before the figures mean, as far as they are there.
std::string legend_text(const std::vector<Advice>& all, uint64_t shown) {
    bool has_known = false;
    bool has_bound = false;
    for (size_t i = 0; i < shown; ++i) {
        (all[i].saves_bytes.has_value() ? has_known : has_bound) = true;
    }
    std::string text;
    if (has_known) {
        text +=
            "saves: the peak falls by so much, by this change alone (the recording, replayed)\n";
    }
    if (has_bound) {
        text += "holds: so much is live at the peak; what a change saves, only a run can say\n";
    }
    return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string pieces_of_advice_text(const PathDisplay& paths, const std::vector<Advice>& advice) {
    std::string text;
    for (const Advice& one : advice) {
        text += "\n" + row_text(paths, one);
    }
    return text;
}

std::string advise_text(const AdviseReport& report) {
    const std::vector<Advice>& all = report.found.advice;
    const uint64_t shown = shown_count(report.top, all.size());
    std::string text = head_text(report.reader) + peak_text(report);
    if (all.empty()) {
        text += "No rule finds anything, and no line holds a large part of it.\n";
    }
    text += legend_text(all, shown);
    const std::vector<Advice> first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown));
    text += pieces_of_advice_text(report.paths, first);
    if (shown < all.size()) {
        text += "\n  ... " + std::to_string(all.size() - shown) + " more (--top 0)\n";
    }
    if (std::any_of(
            first.begin(), first.end(), [](const Advice& one) { return !one.attempt.empty(); })) {
        text += "\npeakline advise --try PROGRAM applies what needs no edit, and measures it.\n";
    }
    return text + coverage_text(report.reader) + health_text(report.found.health);
}

}  // namespace peakline::report
