// The reports, from a trace to a finished text: the only functions that the extension module and
// other programs need. Each makes one or two passes over the events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

// kParts: what a terminal shows, as JSON of finished texts; of the table and the summary only.
enum class OutputForm { kText, kJson, kParts };

struct ReportOptions {
    SelectionText selection;
    uint64_t top = 0;        // rows shown; 0: all
    uint64_t min_bytes = 0;  // of tensors: smaller ones are counted only
    uint32_t search = 0;     // of holders: which search; 0: the last one
    PathDisplay paths;
    OutputForm form = OutputForm::kText;
};

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

std::string make_holders(const TraceReader& reader,
                         const ReportOptions& options,
                         const Progress& progress = {});

// `top`: points over the whole time, 0: 1000. Without a device: the sum of all.
std::string make_timeline_report(const TraceReader& reader,
                                 const ReportOptions& options,
                                 const Progress& progress = {});

// Throws TraceError when the trace holds a summary only, which `command` cannot be made of.
void need_events(const TraceReader& reader, const char* command);

// While the result lives, libraries whose functions were named stay in memory for further reports.
std::shared_ptr<const void> keep_libraries();

using MakeReport = std::string (*)(const TraceReader&, const ReportOptions&, const Progress&);

// The report of this name: "table", "phases", ... Throws TraceError that lists the names when there
// is none.
MakeReport find_report(const std::string& name);

// What the trace says about itself, without reading events. JSON; schema: JSON.md.
std::string make_info(const TraceReader& reader);

}  // namespace peakline::report
