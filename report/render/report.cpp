// Puts the stages together: replay, attribute, view, render.
#include "report.h"

#include <utility>

#include "phases_report.h"
#include "report/attribute/grouping.h"
#include "report/attribute/phase_rules.h"
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
        throw TraceError(reader.name() + ": it does not say which block holds which tensor: " +
                         "record with events, and Python with torch");
    }
    if (grouping.needs_events && !reader.has_events() && !reader.summary().views.empty()) {
        throw TraceError(reader.name() + ": --by " + by +
                         " follows single blocks and this trace holds a summary only; record with"
                         " events");
    }
    return grouping;
}

// Asks replay for what the grouping needs.
ReplayResult replay_for(const TraceReader& reader,
                        ReplayRequest request,
                        const Grouping& grouping,
                        StackLookup& stacks,
                        const Progress& progress) {
    const bool follows_blocks = grouping.facet != nullptr && reader.has_events();
    request.detail = follows_blocks ? Detail::kBlocks : Detail::kGroups;
    request.needs_tensors = grouping.reads_tensors;
    if (follows_blocks || request.moment.kind == MomentKind::kPhase) {
        request.phase_rules = &stacks.phase_rules();
    }
    ReplayResult result = replay(reader, request, progress);
    if (follows_blocks) {
        group_by_facet(grouping.facet, stacks, result.phases, &result.blocks);
    }
    return result;
}

Label out_of_memory_line(const ReplayResult& result, StackLookup& stacks) {
    BlockGroup request;
    request.context = result.out_of_memory.context;
    return result.out_of_memory.count != 0 ? place_by_line(stacks, request).label : Label{};
}

// The way of every report about one moment: replay, group, render.
std::string replay_and_render(const TraceReader& reader,
                              const ReportOptions& options,
                              const Selection& selection,
                              const Progress& progress,
                              std::string (*render)(const TableReport&)) {
    const Grouping& grouping = choose_grouping(reader, selection.by);
    StackLookup stacks(reader.definitions(), selection.frames);
    const ReplayResult result = replay_for(reader, selection.request, grouping, stacks, progress);
    const Table table = build_table(result.blocks, selection.request.measure, grouping, stacks);
    return render(TableReport{reader,
                              selection,
                              result,
                              table,
                              options.top,
                              options.paths,
                              stacks.symbols().unmatched_module_count(),
                              build_value_reads(result.value_reads, reader.definitions()),
                              {result.out_of_memory, out_of_memory_line(result, stacks)}});
}

}  // namespace

void need_events(const TraceReader& reader, const char* command) {
    if (!reader.has_events() && !reader.summary().views.empty()) {
        throw TraceError(reader.name() + ": holds a summary only, " + command +
                         " counts events; use peakline summary");
    }
}

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

std::string make_phases(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    const Selection selection = parse_selection(options.selection);
    need_events(reader, "phases");
    const auto [phases, chosen] = replay_phases_of_device(
        reader, make_phase_rules(reader.definitions()), selection.request, progress);
    const PhasesReport report = {reader, selection, phases, chosen, options.top};
    return options.form == OutputForm::kJson ? phases_json(report) : phases_text(report);
}

std::string make_stats(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress) {
    const Selection selection = parse_selection(options.selection);
    const Grouping& grouping = find_grouping(selection.by);
    need_events(reader, "stats");
    if (grouping.needs_events) {
        throw TraceError("stats counts the whole trace and does not know --by " + selection.by +
                         "; peakline table does");
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

MakeReport find_report(const std::string& name) {
    static constexpr struct {
        const char* name;
        MakeReport make;
    } kReports[] = {
        {"table", make_table},
        {"summary", make_summary},
        {"stats", make_stats},
        {"phases", make_phases},
        {"layers", make_layers},
        {"ops", make_ops},
        {"stages", make_stages},
        {"tensors", make_tensors},
        {"timeline", make_timeline_report},
    };
    std::string names;
    for (const auto& report : kReports) {
        if (name == report.name) {
            return report.make;
        }
        names += std::string(names.empty() ? "" : ", ") + report.name;
    }
    throw TraceError("there is no report '" + name + "'; there are: " + names);
}

}  // namespace peakline::report
