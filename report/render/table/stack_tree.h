// The rows of `--by stack` as a tree, for the renderer and `peakline tree`.
#pragma once

#include <string>

#include "table_report.h"

namespace peakline::report {

// A JSON object with the tree in both foldings. `key`: the index of the key that is a stack. If
// rows have another key, it splits the bytes of every node.
std::string stack_trees_json(const TableReport& report, size_t key);

}  // namespace peakline::report
