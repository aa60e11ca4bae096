// The reports about torch's allocator: whatif, map, fragmentation.
#include <optional>
#include <string>

#include "report.h"
#include "report/render/allocator/whatif_report.h"
#include "report/render/facts/asked_blocks.h"
#include "report/render/table/run_facts.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

// Allocators of several devices have nothing in common.
std::optional<uint32_t> device_of(const Selection& selection, const char* command) {
    const DeviceChoice& choice = selection.request.device;
    if (choice.kind == DeviceChoiceKind::kAll) {
        throw TraceError(std::string(command) +
                         " is about one device: each has an allocator of its own; --device N "
                         "names one");
    }
    return choice.kind == DeviceChoiceKind::kNumber ? std::optional(choice.number) : std::nullopt;
}

}  // namespace

std::string make_whatif(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    const Selection selection = parse_selection(options.selection);
    refuse_where(selection, "whatif");
    need_events(reader, "whatif");
    StackLookup stacks(reader.definitions(), selection.frames);
    const WhatIf answer =
        make_whatif_runs(reader, options.whatif, device_of(selection, "whatif"), stacks, progress);
    const WhatIfReport report = {reader, answer, options.whatif, options.top, options.paths};
    return options.form == OutputForm::kJson ? whatif_json(report) : whatif_text(report);
}

}  // namespace peakline::report
