// The reports that follow calls and single blocks: layers, ops, stages, tensors.
#include <utility>

#include "calls_report.h"
#include "report.h"
#include "report/attribute/call_rules.h"
#include "report/replay/replay.h"
#include "report/trace/trace_error.h"
#include "report/views/tensors.h"
#include "tensors_report.h"

namespace peakline::report {
namespace {

struct CallsQuestion {
    const char* command;
    CallNames names;
    bool keeps_operators;
    bool keeps_layers;
    std::string (*text)(const CallsReport&);
    std::string (*json)(const CallsReport&);
};

// A pass for the phases, then one for the calls: where phases begin and end calls do, too.
std::string make_calls(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress,
                       const CallsQuestion& question) {
    const Selection selection = parse_selection(options.selection);
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
    request.keeps_operators = question.keeps_operators;
    request.keeps_layers = question.keeps_layers;
    request.moments = stage_moments(phases.table);
    const CallResult result = replay_calls(reader, rules, std::move(request), progress);
    const CallsReport report = {reader, selection, phases, rules, result, chosen, options.top};
    return options.form == OutputForm::kJson ? question.json(report) : question.text(report);
}

}  // namespace

std::string make_layers(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    return make_calls(reader,
                      options,
                      progress,
                      {"layers", CallNames::kLayers, false, false, layers_text, layers_json});
}

std::string make_ops(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress) {
    return make_calls(reader,
                      options,
                      progress,
                      {"ops", CallNames::kLayersAndOperators, true, false, ops_text, ops_json});
}

std::string make_stages(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    return make_calls(reader,
                      options,
                      progress,
                      {"stages", CallNames::kLayers, false, true, stages_text, stages_json});
}

std::string make_tensors(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress) {
    const Selection selection = parse_selection(options.selection);
    need_events(reader, "tensors");
    StackLookup stacks(reader.definitions(), selection.frames);
    ReplayRequest request = selection.request;
    request.detail = Detail::kBlocks;
    request.phase_rules = &stacks.phase_rules();
    const ReplayResult result = replay(reader, request, progress);
    const TensorList list = build_tensors(result, request.measure, options.min_bytes, stacks);
    const TensorsReport report = {reader, selection, result, list, options.top, options.paths};
    return options.form == OutputForm::kJson ? tensors_json(report) : tensors_text(report);
}

}  // namespace peakline::report
