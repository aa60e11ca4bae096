// Shared by the tests of the report: a trace in memory, and short functions that query it.
#pragma once

#include <string>

#include "plain_text.h"
#include "report/attribute/grouping.h"
#include "report/attribute/stacks/phase_rules.h"
#include "report/replay/replay.h"
#include "report/reports/report.h"
#include "report/views/blocks/table.h"
#include "text_trace.h"

namespace peakline::test {

// Returns the result of a report: its literal form for people, or its JSON.
inline std::string report_text(report::MakeReport make,
                               const report::TraceReader& reader,
                               const report::ReportOptions& options = {}) {
    const std::string made = make(reader, options, {});
    return options.form == report::OutputForm::kJson ? made : plain_text(made);
}

// A trace in memory and its reader.
struct OpenTrace {
    explicit OpenTrace(Bytes file)
        : bytes(std::move(file)), reader(report::TraceReader::from_memory("test.peak", bytes)) {}
    explicit OpenTrace(const std::string& text) : OpenTrace(TextTrace(text).bytes()) {}

    report::ReplayResult replay(const std::string& at = "peak",
                                const std::string& device = "",
                                const std::string& measure = "allocated") const {
        report::SelectionText selection;
        selection.at = at;
        selection.device = device;
        selection.measure = measure;
        const report::PhaseRules rules = report::make_phase_rules(reader.definitions());
        report::ReplayRequest request = report::parse_selection(selection).request;
        request.phase_rules = &rules;
        return report::replay(reader, request);
    }

    // The table as text, without its first lines.
    std::string rows(report::SelectionText selection = {}) const {
        report::ReportOptions options;
        options.selection = std::move(selection);
        const std::string text = report_text(report::make_table, reader, options);
        const std::string columns = "Mem, Cumulative Mem, Median, Count, Location\n";
        return text.substr(text.find(columns) + columns.size());
    }

    Bytes bytes;
    report::TraceReader reader;
};

inline bool mentions(const report::TraceHealth& health, const std::string& words) {
    for (const std::string& text : health.problems.texts()) {
        if (text.find(words) != std::string::npos) {
            return true;
        }
    }
    return false;
}

}  // namespace peakline::test
