// Makes reports: from a trace to a finished text. The extension module and other programs need only
// these functions, and those of page_report.h and outline_report.h.
#pragma once

#include <memory>
#include <string>

#include "report/render/format/report_options.h"
#include "report/trace/reader.h"

namespace peakline::report {

// All throw TraceError when the options or the trace allow no answer. Exceptions from `progress`
// pass through.
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

// Explains a refused request: the one that --at names, else the last one. Throws TraceError when
// there is none; only JSON without a named request has an empty list then.
std::string make_oom(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress = {});
// The memory of the whole device at a moment: of torch, libraries and the context, and the
// unexplained rest.
std::string make_ledger(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});
std::string make_holders(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress = {});

// Growth from step to step, and memory made in steps that is live at the end.
std::string make_leaks(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress = {});

// Changes that would lower the peak, and by how much.
std::string make_advise(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});

// The memory that the run would need under other settings of torch's allocator and on other
// devices.
std::string make_whatif(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress = {});

// torch's segments at a moment, with their blocks and holes.
std::string make_map(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress = {});
// The cause of each reserved byte at a moment, and the lines that keep segments from being
// returned.
std::string make_fragmentation(const TraceReader& reader,
                               const ReportOptions& options,
                               const Progress& progress = {});

// `top`: number of points over the whole time; 0: 1000. Without a device: the sum of all.
std::string make_timeline_report(const TraceReader& reader,
                                 const ReportOptions& options,
                                 const Progress& progress = {});

// While the result lives, libraries that gave names to functions stay in memory for more reports.
std::shared_ptr<const void> keep_libraries();

using MakeReport = std::string (*)(const TraceReader&, const ReportOptions&, const Progress&);

// Returns the report of this name: "table", "phases", ... Throws TraceError with a list of the
// names when there is none.
MakeReport find_report(const std::string& name);

// Facts of the trace, without reading events. JSON; schema: JSON.md.
std::string make_info(const TraceReader& reader);

}  // namespace peakline::report
