// The numbers of a page as columns, within a budget.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "page_columns.h"
#include "report/views/page/page.h"

namespace peakline::report {

using CodedColumns = std::map<std::string, CodedColumn>;

// The unit of all bytes of a page: 512 if it divides all of them, else 1.
int64_t unit_of(const Page& page);
// Joins moments until the columns fit, or no more can be joined.
CodedColumns code_within(Page& page, int64_t unit, uint64_t budget_bytes);

}  // namespace peakline::report
