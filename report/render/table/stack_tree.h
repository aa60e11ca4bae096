// The rows of `--by stack` as a tree, for the renderer and `peakline tree`.
#pragma once

#include <string>

#include "table_report.h"

namespace peakline::report {

// A JSON object with the tree in both foldings. `key` is which one of the rows' keys is a stack;
// where there is another one, the bytes of every node are split by it.
std::string stack_trees_json(const TableReport& report, size_t key);

}  // namespace peakline::report
