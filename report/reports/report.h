// Makes reports: from a trace to a finished text. The extension module and other programs need only
// these functions, and make_page().
#pragma once

#include <memory>
#include <string>

#include "report/render/format/report_options.h"
#include "report/trace/reader.h"

namespace peakline::report {

// All throw TraceError when the options or the trace allow no answer. Exceptions from the Progress
// pass through; an empty one is not called.
using MakeReport = std::string(const TraceReader&, const ReportOptions&, const Progress&);

MakeReport make_table, make_summary, make_stats;
MakeReport make_phases, make_layers, make_ops, make_stages;
MakeReport make_tensors, make_holders;
// Explains a refused request: the one that --at names, else the last one. Throws TraceError when
// there is none; only JSON without a named request has an empty list then.
MakeReport make_oom;
// The memory of the whole device at a moment: of torch, libraries and the context, and the
// unexplained rest.
MakeReport make_ledger;
// Growth from step to step, and memory made in steps that is live at the end.
MakeReport make_leaks;
// Changes that would lower the peak, and by how much.
MakeReport make_advise;
// The cheapest layers to checkpoint so that the peak is under a budget. With ReportOptions::sizes:
// the peak at sizes that were never run, from recordings of two sizes or more.
MakeReport make_plan;
// The memory that the run would need under other settings of torch's allocator and on other
// devices.
MakeReport make_whatif;
// torch's segments at a moment, with their blocks and holes; and the cause of each reserved byte,
// with the lines that keep segments from being returned.
MakeReport make_map, make_fragmentation;
// --top: number of points over the whole time; 0: 1000. Without a device: the sum of all.
MakeReport make_timeline_report;
// The JSON of outline_report.h.
MakeReport make_outline;
// The JSON of step_levels_report.h.
MakeReport make_step_levels;

// Returns the report of this name: "table", "phases", ... Throws TraceError with a list of the
// names when there is none.
MakeReport* find_report(const std::string& name);

// Facts of the trace, without reading events. JSON; schema: JSON.md.
std::string make_info(const TraceReader& reader);

// Stores the lines of all frames in a closed trace, with a few around those of the program itself;
// fewer of them where the trace has no room for all. Files that were changed since the program
// began are stored as that. False when the trace takes none (see add_record()) or has them already.
// Throws TraceError when it cannot be read or written.
bool store_sources(const std::string& path);

// While the result lives, libraries that gave names to functions stay in memory for more reports.
std::shared_ptr<const void> keep_libraries();

}  // namespace peakline::report
