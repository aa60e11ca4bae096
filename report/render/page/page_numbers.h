// The numbers of a page as columns, within a budget.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "page_columns.h"
#include "report/views/page/page.h"

namespace peakline::report {

using CodedColumns = std::map<std::string, CodedColumn>;

// What all bytes of a page are multiples of: 512, or 1.
int64_t unit_of(const Page& page);
// Joins moments until everything fits.
CodedColumns code_within(Page& page, int64_t unit, uint64_t budget_bytes);

}  // namespace peakline::report
