// The report of changes under a budget: plan.
#include "report/views/plan/plan.h"

#include "report.h"
#include "report/render/advice/plan_report.h"
#include "report/render/document/document.h"
#include "report/trace/file/trace_error.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {

std::string make_plan(const TraceReader& reader,
                      const ReportOptions& options,
                      const Progress& progress) {
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
