// `summary`: the program, its machine, its peaks and the top rows. JSON schema: JSON.md.
#pragma once

#include "table_report.h"

namespace peakline::report {

void put_summary(Document& document, const TableReport& report);

}  // namespace peakline::report
