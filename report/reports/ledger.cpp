// The report on the whole device: ledger.
#include <string>

#include "report.h"
#include "report/render/ledger/ledger_report.h"
#include "report/views/selection/refusals.h"
#include "sharing_processes.h"

namespace peakline::report {

std::string make_ledger(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "ledger");
    refuse_host(selection, "ledger");
    need_events(reader, "ledger");
    StackLookup stacks(reader.definitions(), selection.frames);
    const Ledger ledger = make_ledger(reader, selection, stacks, progress);
    const LedgerReport report = {reader,
                                 ledger,
                                 parts_by_process(ledger.shared, find_sharing_processes(reader)),
                                 options.selection.at,
                                 options.top,
                                 options.paths};
    return document_of(options.form, put_ledger, report);
}

}  // namespace peakline::report
