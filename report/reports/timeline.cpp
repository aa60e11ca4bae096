// The level over time: timeline.
#include <optional>
#include <utility>

#include "report.h"
#include "report/render/document/document.h"
#include "report/render/timeline_report.h"
#include "report/replay/replay.h"
#include "report/trace/file/trace_error.h"
#include "report/views/ledger/driver_levels.h"
#include "report/views/selection/chosen_keys.h"
#include "report/views/selection/refusals.h"
#include "report/views/selection/selected_blocks.h"

namespace peakline::report {
namespace {

constexpr uint64_t kDefaultPoints = 1000;

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
    return document_of(options.form, put_timeline, report);
}

}  // namespace peakline::report
