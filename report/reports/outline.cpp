#include "report.h"
#include "report/render/calls/outline_report.h"
#include "report/render/page/step_levels_report.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {

std::string make_outline(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "outline");
    StackLookup stacks(reader.definitions(), selection.frames);
    const Outline outline = build_outline(reader, selection, stacks, progress);
    return outline_json({reader, selection, outline, options.paths});
}

std::string make_step_levels(const TraceReader& reader,
                             const ReportOptions& options,
                             const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "step_levels");
    need_events(reader, "step_levels");
    StackLookup stacks(reader.definitions(), selection.frames);
    const StepLevels levels = build_step_levels(reader, selection, stacks, progress);
    return step_levels_json({reader, levels, options.paths});
}

}  // namespace peakline::report
