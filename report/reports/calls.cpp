// The reports that follow calls and single blocks: layers, ops, stages, tensors, holders.
#include <optional>
#include <utility>

#include "asked_blocks.h"
#include "report.h"
#include "report/attribute/call_rules.h"
#include "report/render/blocks/holders_report.h"
#include "report/render/blocks/tensors_report.h"
#include "report/render/calls/calls_report.h"
#include "report/render/table/table_report.h"
#include "report/replay/phases/find_ranges.h"
#include "report/replay/replay.h"
#include "report/views/blocks/holders.h"
#include "report/views/blocks/tensors.h"
#include "report/views/selection/chosen_keys.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {
namespace {

enum class Shown { kLayers, kOperators, kStages };

struct CallsQuestion {
    const char* command;
    CallNames names;
    Shown shows;
    void (*put)(Document&, const CallsReport&);
};

// The first pass finds the phases, the second one the calls: calls begin and end with phases, too.
std::string make_calls(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress,
                       const CallsQuestion& question) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, question.command);
    need_time(reader, question.command);
    StackLookup stacks(reader.definitions(), selection.frames);
    ReplayRequest asked;
    asked.device = selection.request.device;
    const auto [phases, chosen] =
        replay_phases_of_device(reader, stacks.phase_rules(), asked, progress);
    const CallRules rules = make_call_rules(stacks, question.names);
    const std::vector<EventRange> during =
        need_ranges(reader, phases.table, selection.during, progress);
    CallRequest request;
    request.during = during;
    if (asked.device.kind != DeviceChoiceKind::kAll) {
        request.device = chosen.device;
    }
    request.moments = stage_moments(phases.table);
    const bool is_json = options.form == OutputForm::kJson;
    std::optional<OperatorSeriesBuilder> series_builder;
    std::optional<StagesBuilder> stages_builder;
    if (question.shows == Shown::kOperators) {
        const KeptPoints kept = is_json ? KeptPoints::kFirst : KeptPoints::kLargest;
        series_builder.emplace(rules, phases.table, kept, options.top, EventWindow(during));
        request.on_operator = [&](const OperatorCall& call) { series_builder->add(call); };
    } else if (question.shows == Shown::kStages) {
        // Shows all steps within --during, else the first steps of the run.
        const uint64_t step_count = during.empty() ? options.top : 0;
        stages_builder.emplace(rules, phases.table, step_count, EventWindow(during));
        request.on_layer = [&](const LayerCall& call) { stages_builder->add(call); };
    }
    const CallResult result = replay_calls(reader, rules, std::move(request), progress);
    const std::vector<LayerRow> layers =
        question.shows == Shown::kLayers ? build_layers(result, rules) : std::vector<LayerRow>();
    const OperatorSeries series = series_builder ? series_builder->take() : OperatorSeries();
    const Stages stages = stages_builder ? stages_builder->take(result.moments) : Stages();
    const CallsReport report = {
        reader, selection, phases, rules, result, layers, series, stages, chosen, options.top};
    Document document(options.form);
    put_calls_head(document, report);
    question.put(document, report);
    put_health(document, reader, phases.health);
    return document.take();
}

}  // namespace

std::string make_layers(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    return make_calls(
        reader, options, progress, {"layers", CallNames::kLayers, Shown::kLayers, put_layers});
}

std::string make_ops(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress) {
    return make_calls(reader,
                      options,
                      progress,
                      {"ops", CallNames::kLayersAndOperators, Shown::kOperators, put_ops});
}

std::string make_stages(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    return make_calls(
        reader, options, progress, {"stages", CallNames::kLayers, Shown::kStages, put_stages});
}

std::string make_tensors(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress) {
    Selection selection = parse_selection(options.selection, reader);
    selection.row_keys.clear();  // each block is a row
    need_events(reader, "tensors");
    StackLookup stacks(reader.definitions(), selection.frames);
    BlockKeys keys(chosen_keys(reader, selection), 0, stacks);
    const Detail detail = selection.during.empty() ? Detail::kBlocks : Detail::kLives;
    const AskedBlocks asked =
        replay_for_keys(reader, selection, detail, keys, options.paths, progress);
    const TensorList list =
        build_tensors(asked.result, selection.request.measure, options.min_bytes, stacks);
    const HolderIndex holders(reader.definitions());
    const TensorsReport report = {
        reader, selection, asked.result, list, options.top, options.paths, asked.part, holders};
    return document_of(options.form, put_tensors, report);
}

std::string make_holders(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& /*progress*/) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "holders");
    StackLookup stacks(reader.definitions(), selection.frames);
    const HolderList list = build_holders(reader.name(), options.search, stacks);
    const HoldersReport report = {reader, list, options.top, options.paths};
    return document_of(options.form, put_holders, report);
}

}  // namespace peakline::report
