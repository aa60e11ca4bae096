// `timeline`: the level over time. JSON schema: JSON.md.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "report/render/document/document.h"
#include "report/render/facts/asked_blocks.h"
#include "report/render/facts/where_report.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/json_writer.h"
#include "report/render/report.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "report/replay/replay.h"
#include "report/replay/totals/timeline.h"
#include "report/trace/file/trace_error.h"
#include "report/views/ledger/driver_levels.h"
#include "report/views/selection/chosen_keys.h"
#include "report/views/selection/selected_blocks.h"

namespace peakline::report {
namespace {

struct TimelineReport {
    const TraceReader& reader;
    const Selection& selection;
    const Timeline& timeline;
    ShownPart part;
};

constexpr uint64_t kDefaultPoints = 1000;
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

// Without --where `by_ordinal` is nullopt: all blocks are shown.
struct ShownBlocks {
    std::optional<std::vector<bool>> by_ordinal;
    std::vector<UnmatchedValue> unmatched;
};

ShownBlocks shown_blocks(const TraceReader& reader,
                         Selection selection,
                         const PathDisplay& paths,
                         const Progress& progress) {
    ShownBlocks shown;
    if (!selection.where.empty()) {
        selection.row_keys.clear();
        StackLookup stacks(reader.definitions(), selection.frames);
        BlockKeys keys(chosen_keys(reader, selection), 0, stacks);
        BlockFilter filter(selection.where, keys, texts_of_labels(paths));
        shown.by_ordinal = select_blocks(reader, keys, filter, progress);
        shown.unmatched = filter.unmatched();
    }
    return shown;
}

}  // namespace

std::string make_timeline_report(const TraceReader& reader,
                                 const ReportOptions& options,
                                 const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader, KnownMeasures::kAll);
    const DeviceChoice& choice = selection.request.device;
    need_time(reader, "timeline");
    if (selection.driver_measure) {
        refuse_where(selection, "timeline --measure reserved and device");
        refuse_host(selection, "timeline --measure reserved and device");
    } else if (selection.request.measure != format::Measure::kAllocated) {
        throw TraceError("timeline --measure takes allocated, reserved or device");
    }
    TimelineRequest request;
    if (choice.kind == DeviceChoiceKind::kNumber) {
        request.device = choice.number;
    } else if (!selection.driver_measure && !reader.has_gpu_memory()) {
        request.device = replay(reader, {}, progress).chosen.device;
    }
    request.point_count = options.top != 0 ? options.top : kDefaultPoints;
    ShownBlocks shown = shown_blocks(reader, selection, options.paths, progress);
    request.shown = shown.by_ordinal.has_value() ? &*shown.by_ordinal : nullptr;
    const Timeline timeline =
        selection.driver_measure
            ? make_driver_timeline(reader, *selection.driver_measure, request, progress)
            : make_timeline(reader, request, progress);
    if (timeline.points.empty()) {
        throw TraceError(reader.name() + ": holds no events, so there is no time to show");
    }
    const TimelineReport report = {
        reader,
        selection,
        timeline,
        {timeline.peak_bytes, timeline.whole_peak_bytes, std::move(shown.unmatched)}};
    Document document(options.form);
    put_timeline(document, report);
    return document.take();
}

}  // namespace peakline::report
