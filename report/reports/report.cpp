// Connects the stages: replay, attribute, view, render.
#include "report.h"

#include <utility>

#include "asked_blocks.h"
#include "report/attribute/grouping.h"
#include "report/attribute/stacks/phase_rules.h"
#include "report/render/blocks/stats_report.h"
#include "report/render/calls/phases_report.h"
#include "report/render/table/summary_report.h"
#include "report/render/table/table_report.h"
#include "report/replay/replay.h"
#include "report/symbols/module_files.h"
#include "report/trace/file/trace_error.h"
#include "report/views/blocks/table.h"
#include "report/views/selection/chosen_keys.h"
#include "report/views/selection/refusals.h"
#include "sharing_processes.h"

namespace peakline::report {
namespace {

Label out_of_memory_line(const ReplayResult& result, StackLookup& stacks) {
    BlockGroup request;
    request.context = result.out_of_memory.context;
    return result.out_of_memory.count != 0 ? row_by_line(stacks, request).label : Label{};
}

bool is_peak_of_run(const Selection& selection) {
    return selection.request.moment.kind == MomentKind::kPeak && !selection.driver_measure &&
           selection.during.empty() && selection.where.empty();
}

bool is_about_pinned(const Selection& selection) {
    return selection.request.device.kind == DeviceChoiceKind::kNumber &&
           selection.request.device.number == format::kPinnedDevice;
}

std::optional<PinnedRounding> pinned_rounding(const TraceReader& reader,
                                              const Selection& selection,
                                              const ReplayResult& result) {
    const bool is_whole = selection.where.empty() && !selection.driver_measure;
    if (!is_whole || result.is_sum || result.chosen.device != format::kPinnedDevice) {
        return std::nullopt;
    }
    return find_pinned_rounding(result.blocks, reader.definitions());
}

// The stages of every report about one moment: replay, group, render.
std::string replay_and_render(const TraceReader& reader,
                              const ReportOptions& options,
                              const Selection& selection,
                              const Progress& progress,
                              void (*put)(Document&, const TableReport&)) {
    StackLookup stacks(reader.definitions(), selection.frames);
    BlockKeys keys(chosen_keys(reader, selection), selection.row_keys.size(), stacks);
    // Only single blocks have tensors, which give the requested bytes of pinned memory.
    const Detail detail = is_about_pinned(selection) ? Detail::kBlocks : Detail::kGroups;
    AskedBlocks asked = replay_for_keys(reader, selection, detail, keys, options.paths, progress);
    const Table table = build_table(asked.result.blocks, selection.request.measure, keys);
    // Memory outside the table is shown only for the peak of one device.
    const bool is_peak = selection.request.moment.kind == MomentKind::kPeak &&
                         !asked.result.is_sum && !selection.driver_measure;
    const std::optional<Ledger> ledger =
        is_peak ? find_peak_ledger(reader, asked.result.chosen, stacks, progress) : std::nullopt;
    const TableReport report = {
        reader,
        selection,
        asked.result,
        table,
        options.top,
        options.paths,
        stacks.symbols().unmatched_module_count(),
        build_value_reads(asked.result.value_reads, reader.definitions()),
        {asked.result.out_of_memory, out_of_memory_line(asked.result, stacks)},
        std::move(asked.part),
        ledger ? outside_memory(*ledger) : std::nullopt,
        ledger ? large_shared_parts(*ledger, reader) : std::vector<LedgerPart>{},
        pinned_rounding(reader, selection, asked.result),
        is_peak_of_run(selection)
            ? find_compiling(reader, asked.result, selection.request.measure, stacks, progress)
            : std::nullopt};
    return document_of(options.form, put, report);
}

// Refuses keys that need single blocks: counts of the whole trace have none.
std::vector<const Grouping*> keys_of_counts(const TraceReader& reader, const Selection& selection) {
    std::vector<const Grouping*> keys = chosen_keys(reader, selection);
    for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i]->needs_events || keys[i]->needs_tensors) {
            const KeyUse use = i < selection.row_keys.size() ? KeyUse::kRows : KeyUse::kWhere;
            throw TraceError(std::string("stats counts the whole trace and does not know ") +
                             option_of(use) + " " + keys[i]->name + "; peakline table does");
        }
    }
    return keys;
}

}  // namespace

std::string make_table(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader, KnownMeasures::kAll);
    return replay_and_render(reader, options, selection, progress, put_table);
}

std::string make_summary(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress) {
    Selection selection = parse_selection(options.selection, reader);
    selection.request.with_other_measure = true;
    return replay_and_render(reader, options, selection, progress, put_summary);
}

std::string make_phases(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "phases");
    need_time(reader, "phases");
    const auto [phases, chosen] = replay_phases_of_device(
        reader, make_phase_rules(reader.definitions()), selection.request, progress);
    const PhasesReport report = {reader, selection, phases, chosen, options.top};
    return document_of(options.form, put_phases, report);
}

std::string make_stats(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    need_time(reader, "stats");
    const std::vector<const Grouping*> groupings = keys_of_counts(reader, selection);
    const AllocationTotals totals = count_allocations(reader, progress);
    StackLookup stacks(reader.definitions(), selection.frames);
    const BlockKeys keys(groupings, selection.row_keys.size(), stacks);
    BlockFilter filter(selection.where, keys, texts_of_labels(options.paths));
    const Stats stats = build_stats(reader, totals, selection.request.measure, keys, filter);
    const StatsReport report = {reader,
                                selection,
                                totals,
                                stats,
                                options.top,
                                options.paths,
                                stacks.symbols().unmatched_module_count(),
                                {stats.shown_bytes, stats.allocated_bytes, filter.unmatched()}};
    return document_of(options.form, put_stats, report);
}

std::shared_ptr<const void> keep_libraries() {
    return std::make_shared<const KeptModules>();
}

MakeReport* find_report(const std::string& name) {
    static constexpr struct {
        const char* name;
        MakeReport* make;
    } kReports[] = {
        {"table", make_table},
        {"summary", make_summary},
        {"stats", make_stats},
        {"phases", make_phases},
        {"layers", make_layers},
        {"ops", make_ops},
        {"stages", make_stages},
        {"tensors", make_tensors},
        {"holders", make_holders},
        {"oom", make_oom},
        {"ledger", make_ledger},
        {"leaks", make_leaks},
        {"advise", make_advise},
        {"plan", make_plan},
        {"whatif", make_whatif},
        {"map", make_map},
        {"fragmentation", make_fragmentation},
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
