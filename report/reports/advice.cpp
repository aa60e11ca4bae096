// The report of changes that would lower the peak: advise.
#include "report.h"
#include "report/render/advice/advise_report.h"
#include "report/render/document/document.h"
#include "report/trace/file/trace_error.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {

std::string make_advise(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "advise");
    need_time(reader, "advise");
    StackLookup stacks(reader.definitions(), selection.frames);
    const AdviceReport found = build_advice(reader, selection, stacks, progress);
    if (!found.is_peak_kept) {
        throw TraceError(reader.name() +
                         ": the peak lies before the events that this trace keeps; record "
                         "without --keep to see what would lower it");
    }
    const AdviseReport report = {reader, selection, found, options.top, options.paths};
    return document_of(options.form, put_advise, report);
}

}  // namespace peakline::report
