// `table` and `summary` for a terminal: JSON of finished texts, which the command line lays out in
// columns, wraps and colours. Nothing in it can drive the terminal, see printable(). For the
// package's own use: no contract, programs read --json.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/views/blocks/stack_tree.h"
#include "table_report.h"

namespace peakline::report {

std::string table_parts(const TableReport& report);
std::string summary_parts(const TableReport& report);

// The value of a field: the rows as a tree, in both foldings. `key` is which one of the rows' keys
// is a stack; where there is another one, the bytes of every node are split by it.
void put_stack_trees(JsonWriter& json, const TableReport& report, size_t key);

}  // namespace peakline::report
