// The report on refused requests: oom.
#include <optional>
#include <string>
#include <vector>

#include "report.h"
#include "report/render/blocks/oom_report.h"
#include "report/render/document/document.h"
#include "report/views/refused/refused_holders.h"
#include "report/views/refused/refused_lines.h"
#include "report/views/refused/serving_setting.h"
#include "report/views/selection/refusals.h"
#include "sharing_processes.h"

namespace peakline::report {
namespace {

std::vector<LedgerPart> shared_then(const TraceReader& reader,
                                    const OutOfMemory& refused,
                                    StackLookup& stacks,
                                    const Progress& progress) {
    if (!shares_memory(reader) || reader.is_bounded()) {
        return {};
    }
    const MomentEvent moment = {UINT64_MAX, refused.tick, refused.device, refused.tick};
    const std::optional<Ledger> ledger = find_ledger_at(reader, moment, stacks, progress);
    return ledger ? large_shared_parts(*ledger, reader) : std::vector<LedgerPart>{};
}

}  // namespace

std::string make_oom(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "oom");
    need_time(reader, "oom");
    StackLookup stacks(reader.definitions(), selection.frames);
    const RefusedRequests refused = find_refused_requests(reader, progress);
    const bool names_request = selection.request.moment.request_number != 0;
    if (options.form == OutputForm::kJson && !names_request && refused.is_complete(reader) &&
        refused.list.empty()) {
        Document document(options.form);
        put_no_oom(document, reader);
        return document.take();
    }
    const Autopsy autopsy = make_autopsy(reader, selection, refused, stacks, progress);
    const std::optional<RefusedHolders> holders = find_refused_holders(reader, autopsy, stacks);
    const OomReport report = {reader,
                              refused,
                              autopsy,
                              refused_lines_without(refused, autopsy.number, stacks),
                              holders ? &*holders : nullptr,
                              find_serving_setting(reader, autopsy, stacks, progress),
                              shared_then(reader, autopsy.refused.request, stacks, progress),
                              options.top,
                              options.paths};
    return document_of(options.form, put_oom, report);
}

}  // namespace peakline::report
