// `summary` in its two forms: what ran, where, its peaks and the top rows. JSON schema: JSON.md.
#pragma once

#include <string>

#include "table_report.h"

namespace peakline::report {

std::string summary_text(const TableReport& report);
std::string summary_json(const TableReport& report);

}  // namespace peakline::report
