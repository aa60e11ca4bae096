// The reports, from a trace to a finished text: the only functions that the extension module and
// other programs need. Each makes one or two passes over the events.
#pragma once

#include <memory>
#include <string>

#include "report/render/format/report_options.h"
#include "report/trace/reader.h"

namespace peakline::report {

// All throw TraceError when the options or the trace do not allow an answer, and pass on what
// `progress` throws.
std::string make_table(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress = {});
std::string make_summary(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress = {});
std::string make_phases(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});
std::string make_stats(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress = {});

std::string make_layers(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});
std::string make_ops(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress = {});
std::string make_stages(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});
std::string make_tensors(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress = {});

// Why a request was refused; --at names it, else it is the last one. Throws TraceError when none
// was.
std::string make_oom(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress = {});
// What holds the whole device at a moment: torch, libraries, the context, and what is unexplained.
std::string make_ledger(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});
std::string make_holders(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress = {});

// What grows from step to step, and what steps made that is live at the end.
std::string make_leaks(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress = {});

// What would lower the peak, and by how much.
std::string make_advise(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});

// What the run would need under other settings of torch's allocator and on other devices.
std::string make_whatif(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});

// torch's segments at a moment, the blocks in them, and the holes.
std::string make_map(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress = {});
// Why each reserved byte is there then, and which lines keep segments from going back.
std::string make_fragmentation(const TraceReader& reader,
                               const ReportOptions& options,
                               const Progress& progress = {});

// `top`: points over the whole time, 0: 1000. Without a device: the sum of all.
std::string make_timeline_report(const TraceReader& reader,
                                 const ReportOptions& options,
                                 const Progress& progress = {});

// While the result lives, libraries whose functions were named stay in memory for further reports.
std::shared_ptr<const void> keep_libraries();

using MakeReport = std::string (*)(const TraceReader&, const ReportOptions&, const Progress&);

// The report of this name: "table", "phases", ... Throws TraceError that lists the names when there
// is none.
MakeReport find_report(const std::string& name);

// What the trace says about itself, without reading events. JSON; schema: JSON.md.
std::string make_info(const TraceReader& reader);

}  // namespace peakline::report
