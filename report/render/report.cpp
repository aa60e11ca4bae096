// Puts the stages together: replay, attribute, view, render.
#include "report.h"

#include "report/attribute/grouping.h"
#include "report/replay/replay.h"
#include "report/trace/trace_error.h"
#include "report/views/table.h"
#include "stats_report.h"
#include "summary_report.h"
#include "table_report.h"

namespace peakline::report {
namespace {

const Grouping& choose_grouping(const TraceReader& reader, const std::string& by) {
    const Grouping& grouping = find_grouping(by);
    if (grouping.needs_streams && !reader.has_events() && !reader.summary().views.empty()) {
        throw TraceError(reader.name() + ": holds a summary only, which does not know " + by +
                         "s; record with events");
    }
    if (grouping.needs_tensors && reader.definitions().tensor_blocks.empty()) {
        throw TraceError(reader.name() + ": nothing in it tells which block is which tensor: " +
                         "record with events, and Python with torch");
    }
    return grouping;
}

// The way of every report about one moment: replay, group, render.
std::string replay_and_render(const TraceReader& reader,
                              const ReportOptions& options,
                              const Selection& selection,
                              const Progress& progress,
                              std::string (*render)(const TableReport&)) {
    const Grouping& grouping = choose_grouping(reader, selection.by);
    const ReplayResult result = replay(reader, selection.request, progress);
    StackLookup stacks(reader.definitions(), selection.frames);
    const Table table = build_table(result.blocks, selection.request.measure, grouping, stacks);
    return render(TableReport{reader,
                              selection,
                              result,
                              table,
                              options.top,
                              options.paths,
                              stacks.symbols().unmatched_module_count()});
}

}  // namespace

std::string make_table(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress) {
    const auto render = options.form == OutputForm::kJson ? table_json : table_text;
    return replay_and_render(reader, options, parse_selection(options.selection), progress, render);
}

std::string make_summary(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress) {
    Selection selection = parse_selection(options.selection);
    selection.request.with_other_measure = true;
    const auto render = options.form == OutputForm::kJson ? summary_json : summary_text;
    return replay_and_render(reader, options, selection, progress, render);
}

std::string make_stats(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress) {
    const Selection selection = parse_selection(options.selection);
    const Grouping& grouping = find_grouping(selection.by);
    if (!reader.has_events() && !reader.summary().views.empty()) {
        throw TraceError(reader.name() +
                         ": holds a summary only, stats counts events; use peakline summary");
    }
    const AllocationTotals totals = count_allocations(reader, progress);
    StackLookup stacks(reader.definitions(), selection.frames);
    const Stats stats = build_stats(reader, totals, selection.request.measure, grouping, stacks);
    const StatsReport report = {reader,
                                selection,
                                totals,
                                stats,
                                options.top,
                                options.paths,
                                stacks.symbols().unmatched_module_count()};
    return options.form == OutputForm::kJson ? stats_json(report) : stats_text(report);
}

}  // namespace peakline::report
