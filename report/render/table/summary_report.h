// `summary` in its two forms: what ran, where, its peaks and the top rows. JSON schema: JSON.md.
#pragma once

#include <string>
#include <vector>

#include "table_report.h"

namespace peakline::report {

std::vector<Fact> summary_facts(const TableReport& report);
// "Top of device 0 at peak"
std::string summary_title(const TableReport& report);
std::vector<Note> summary_notes(const TableReport& report);

std::string summary_text(const TableReport& report);
std::string summary_json(const TableReport& report);

}  // namespace peakline::report
