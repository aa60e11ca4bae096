#include "timeline_report.h"

#include <algorithm>
#include <array>
#include <string>

#include "report/render/document/document.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/json_writer.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

constexpr size_t kRows = 12;
constexpr size_t kLabelWidth = 9;
constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::string padded(const std::string& text) {
    return std::string(kLabelWidth - std::min(kLabelWidth, text.size()), ' ') + text;
}

// One line of the chart: the height of each column within this row, in eighths.
std::string chart_row(const Timeline& timeline, uint64_t top, size_t row) {
    std::string line;
    for (const TimelinePoint& point : timeline.points) {
        const double eighths =
            static_cast<double>(point.max_bytes) / static_cast<double>(top) * kRows * 8;
        const double here = eighths - static_cast<double>(row) * 8;
        line += kBlocks[static_cast<size_t>(std::clamp(here + 0.5, 0.0, 8.0))];
    }
    return line;
}

void put_levels(Document& document, const TimelineReport& report) {
    const Timeline& timeline = report.timeline;
    const auto level = [&](uint64_t bytes, uint64_t tick) {
        return format_bytes(bytes) + (timeline.from_headers ? " after " : " at ") +
               format_seconds(report.reader.seconds(tick));
    };
    const std::string measure = report.selection.driver_measure
                                    ? " (" + std::string(measure_name(report.selection)) + ")"
                                    : std::string();
    document.say("Highest level" + measure + ": " +
                 level(timeline.whole_peak_bytes, timeline.whole_peak_tick));
    if (!report.selection.where.empty()) {
        document.say("Shown: where " + condition_text(report.selection) + ", at most " +
                     level(timeline.peak_bytes, timeline.peak_tick));
        document.say_lines(unmatched_where_text(report.part));
    }
}

void put_chart(Document& document, const TimelineReport& report) {
    const TraceReader& reader = report.reader;
    const Timeline& timeline = report.timeline;
    const uint64_t top = std::max<uint64_t>(timeline.peak_bytes, 1);
    for (size_t row = kRows; row-- > 0;) {
        const bool has_label = row == kRows - 1 || row == kRows / 2 - 1;
        const std::string label =
            has_label ? format_bytes(top * static_cast<uint64_t>(row + 1) / kRows) : "";
        document.say(padded(label) + " |" + chart_row(timeline, top, row), Tone::kVerbatim);
    }
    const std::string begin = format_seconds(reader.seconds(timeline.points.front().tick));
    const std::string end = format_seconds(reader.seconds(timeline.end_tick));
    const size_t width = timeline.points.size();
    const size_t gap = width > begin.size() + end.size() ? width - begin.size() - end.size() : 1;
    document.say(padded("0 B") + " +" + std::string(width, '-'), Tone::kVerbatim);
    document.say(padded("") + "  " + begin + std::string(gap, ' ') + end, Tone::kVerbatim);
}

void put_points(JsonWriter& json, const TimelineReport& report) {
    json.key("points").begin_array();
    for (const TimelinePoint& point : report.timeline.points) {
        json.begin_object().field("seconds", report.reader.seconds(point.tick));
        json.field("level_bytes", point.level_bytes).field("max_bytes", point.max_bytes);
        json.end_object();
    }
    json.end_array();
}

}  // namespace

void put_timeline(Document& document, const TimelineReport& report) {
    const TraceReader& reader = report.reader;
    const Timeline& timeline = report.timeline;
    if (document.is_for_people()) {
        document.say_lines(head_text(reader));
        put_levels(document, report);
        put_chart(document, report);
        document.say(timeline.skipped_chunk_count == 0
                         ? ""
                         : "Not in it: " + std::to_string(timeline.skipped_chunk_count) +
                               " damaged chunks; peakline table says which",
                     Tone::kWarning);
        return;
    }
    JsonWriter& json = document.fields();
    put_simulated(json, reader);
    put_lines_missing(json, reader);
    json.field("measure", measure_name(report.selection));
    json.field("peak_bytes", timeline.whole_peak_bytes);
    json.field("peak_seconds", reader.seconds(timeline.whole_peak_tick));
    put_where(json, report.selection, report.part);
    json.field("where_seconds", reader.seconds(timeline.peak_tick));
    json.field("end_seconds", reader.seconds(timeline.end_tick));
    json.field("end_bytes", timeline.end_bytes);
    json.field("from_headers", timeline.from_headers);
    json.field("skipped_chunk_count", timeline.skipped_chunk_count);
    put_points(json, report);
}

}  // namespace peakline::report
