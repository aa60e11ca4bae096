// The table: live blocks of one moment, grouped, largest first. Pure aggregation.
#pragma once

#include <cstdint>
#include <vector>

#include "report/attribute/block_keys.h"
#include "report/replay/values/replay_result.h"

namespace peakline::report {

struct TableRow {
    std::vector<Label> labels;  // one per key
    // Negative only for the row of bytes that torch counts less than the recorded blocks.
    int64_t bytes = 0;
    int64_t cumulative_bytes = 0;  // sum of this row and all above
    uint64_t median_bytes = 0;     // of the block sizes, see median.h
    uint64_t count = 0;            // blocks
    uint64_t backward_bytes = 0;   // the part the autograd engine made for this forward line
    double share = 0;              // of the table's total, 0 to 1
    std::vector<ViaPart> via;      // the bytes by the operator that allocated them; may be empty
    std::vector<ViaPart> callers;  // the bytes of a library's line by that of the program
};

struct Table {
    std::vector<TableRow> rows;
    uint64_t total_bytes = 0;  // the level of the moment
    uint64_t shown_bytes = 0;  // sum of the rows: without left-out blocks
    uint64_t untraced_bytes = 0;
};

// Throws TraceError when the rows and the left-out blocks do not sum to the level, to the byte.
Table build_table(const LiveBlocks& blocks, format::Measure measure, const BlockKeys& keys);

}  // namespace peakline::report
