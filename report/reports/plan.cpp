// The reports of plans: changes under a budget, and peaks of other sizes.
#include "report/views/plan/plan.h"

#include "report.h"
#include "report/render/advice/plan_report.h"
#include "report/render/advice/sizes_report.h"
#include "report/render/document/document.h"
#include "report/trace/file/trace_error.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {
namespace {

std::string make_sizes(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "plan --sizes");
    if (selection.request.device.kind == DeviceChoiceKind::kAll) {
        throw TraceError("plan --sizes needs one device, not --device all");
    }
    const SizePrediction prediction =
        predict_sizes(reader, selection, options.sizes, options.plan.budget_bytes, progress);
    return document_of(
        options.form,
        put_sizes,
        SizesReport{reader, prediction, options.plan.budget_bytes, options.top, options.paths});
}

}  // namespace

std::string make_plan(const TraceReader& reader,
                      const ReportOptions& options,
                      const Progress& progress) {
    if (!options.sizes.recorded.empty()) {
        return make_sizes(reader, options, progress);
    }
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "plan");
    need_time(reader, "plan");
    if (selection.request.device.kind == DeviceChoiceKind::kAll) {
        throw TraceError("plan needs one device, not --device all: a budget is for one");
    }
    StackLookup stacks(reader.definitions(), selection.frames);
    const Plan plan = build_plan(reader, selection, options.plan, stacks, progress);
    return document_of(options.form, put_plan, PlanReport{reader, options.plan, plan});
}

}  // namespace peakline::report
