// The reports that follow calls and single blocks: layers, ops, stages, tensors, holders, oom.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report.h"
#include "report/attribute/call_rules.h"
#include "report/render/blocks/holders_report.h"
#include "report/render/blocks/oom_report.h"
#include "report/render/blocks/tensors_report.h"
#include "report/render/calls/calls_report.h"
#include "report/render/facts/asked_blocks.h"
#include "report/render/table/run_facts.h"
#include "report/replay/replay.h"
#include "report/trace/file/trace_error.h"
#include "report/views/blocks/holders.h"
#include "report/views/blocks/tensors.h"
#include "report/views/selection/chosen_keys.h"

namespace peakline::report {
namespace {

enum class Shown { kLayers, kOperators, kStages };

struct CallsQuestion {
    const char* command;
    CallNames names;
    Shown shows;
    std::string (*text)(const CallsReport&);
    std::string (*json)(const CallsReport&);
};

// A pass for the phases, then one for the calls: where phases begin and end calls do, too.
std::string make_calls(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress,
                       const CallsQuestion& question) {
    const Selection selection = parse_selection(options.selection);
    refuse_where(selection, question.command);
    need_events(reader, question.command);
    StackLookup stacks(reader.definitions(), selection.frames);
    ReplayRequest asked;
    asked.device = selection.request.device;
    const auto [phases, chosen] =
        replay_phases_of_device(reader, stacks.phase_rules(), asked, progress);
    const CallRules rules = make_call_rules(stacks, question.names);
    CallRequest request;
    if (asked.device.kind != DeviceChoiceKind::kAll) {
        request.device = chosen.device;
    }
    request.moments = stage_moments(phases.table);
    const bool is_json = options.form == OutputForm::kJson;
    std::optional<OperatorSeriesBuilder> series_builder;
    std::optional<StagesBuilder> stages_builder;
    if (question.shows == Shown::kOperators) {
        const KeptPoints kept = is_json ? KeptPoints::kFirst : KeptPoints::kLargest;
        series_builder.emplace(rules, phases.table, kept, options.top);
        request.on_operator = [&](const OperatorCall& call) { series_builder->add(call); };
    } else if (question.shows == Shown::kStages) {
        stages_builder.emplace(rules, phases.table, options.top);
        request.on_layer = [&](const LayerCall& call) { stages_builder->add(call); };
    }
    const CallResult result = replay_calls(reader, rules, std::move(request), progress);
    const OperatorSeries series = series_builder ? series_builder->take() : OperatorSeries();
    const Stages stages = stages_builder ? stages_builder->take(result.moments) : Stages();
    const CallsReport report = {reader,
                                selection,
                                phases,
                                rules,
                                result,
                                series,
                                stages,
                                chosen,
                                options.top,
                                options.paths.width};
    return is_json ? question.json(report) : question.text(report);
}

// What `run --hold` found when the last request was refused: it looks soon after, so the last
// search is that request's when no other one was refused since.
std::optional<HolderList> holders_of_request(const TraceReader& reader,
                                             const RefusedRequests& refused,
                                             const Autopsy& autopsy,
                                             StackLookup& stacks) {
    const auto& searches = reader.definitions().holder_searches;
    const auto found = std::find_if(searches.begin(), searches.end(), [&](const auto& search) {
        return search.reason == format::HoldReason::kOutOfMemory &&
               search.tick >= autopsy.refused.request.tick;
    });
    const bool is_last = autopsy.number == refused.count;
    if (!is_last || found == searches.end()) {
        return std::nullopt;
    }
    const auto number = static_cast<uint32_t>(found - searches.begin()) + 1;
    return build_holders(reader.name(), number, stacks);
}

// The requests without the one that is shown, by line.
std::vector<RefusedLine> lines_of_others(const RefusedRequests& refused,
                                         uint64_t shown,
                                         StackLookup& stacks) {
    std::map<std::string, RefusedLine> lines;
    for (size_t i = 0; i < refused.list.size(); ++i) {
        if (i + 1 == shown) {
            continue;
        }
        BlockGroup group;
        group.context = refused.list[i].request.context;
        Label label = place_by_line(stacks, group).label;
        RefusedLine& line = lines[label.key];
        line.line = std::move(label);
        ++line.count;
        line.last_number = i + 1;
    }
    std::vector<RefusedLine> list;
    for (auto& [key, line] : lines) {
        list.push_back(std::move(line));
    }
    std::stable_sort(list.begin(), list.end(), [](const RefusedLine& a, const RefusedLine& b) {
        return a.count > b.count;
    });
    return list;
}

}  // namespace

std::string make_layers(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    return make_calls(reader,
                      options,
                      progress,
                      {"layers", CallNames::kLayers, Shown::kLayers, layers_text, layers_json});
}

std::string make_ops(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress) {
    return make_calls(
        reader,
        options,
        progress,
        {"ops", CallNames::kLayersAndOperators, Shown::kOperators, ops_text, ops_json});
}

std::string make_stages(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    return make_calls(reader,
                      options,
                      progress,
                      {"stages", CallNames::kLayers, Shown::kStages, stages_text, stages_json});
}

std::string make_tensors(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress) {
    Selection selection = parse_selection(options.selection);
    selection.row_keys.clear();  // each block is a row
    need_events(reader, "tensors");
    StackLookup stacks(reader.definitions(), selection.frames);
    BlockKeys keys(chosen_keys(reader, selection), 0, stacks);
    const AskedBlocks asked =
        replay_for_keys(reader, selection, Detail::kBlocks, keys, options.paths, progress);
    const TensorList list =
        build_tensors(asked.result, selection.request.measure, options.min_bytes, stacks);
    const HolderIndex holders(reader.definitions());
    const TensorsReport report = {
        reader, selection, asked.result, list, options.top, options.paths, asked.part, holders};
    return options.form == OutputForm::kJson ? tensors_json(report) : tensors_text(report);
}

std::string make_oom(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress) {
    const Selection selection = parse_selection(options.selection);
    refuse_where(selection, "oom");
    need_events(reader, "oom");
    StackLookup stacks(reader.definitions(), selection.frames);
    const RefusedRequests refused = find_refused_requests(reader, progress);
    const Autopsy autopsy = make_autopsy(reader, selection, refused, stacks, progress);
    const std::optional<HolderList> holders = holders_of_request(reader, refused, autopsy, stacks);
    const OomReport report = {reader,
                              refused,
                              autopsy,
                              lines_of_others(refused, autopsy.number, stacks),
                              holders ? &*holders : nullptr,
                              options.top,
                              options.paths};
    return options.form == OutputForm::kJson ? oom_json(report) : oom_text(report);
}

std::string make_holders(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& /*progress*/) {
    const Selection selection = parse_selection(options.selection);
    refuse_where(selection, "holders");
    StackLookup stacks(reader.definitions(), selection.frames);
    const HolderList list = build_holders(reader.name(), options.search, stacks);
    const HoldersReport report = {reader, list, options.top, options.paths};
    return options.form == OutputForm::kJson ? holders_json(report) : holders_text(report);
}

}  // namespace peakline::report
