// Every block that is live at a moment, listed separately: its content, its allocation and its
// free.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/attribute/grouping.h"
#include "report/replay/values/replay_result.h"

namespace peakline::report {

struct TensorRow {
    TrackedBlock block;
    uint64_t bytes = 0;    // in the requested measure
    std::string name;      // "gradient of fc1.weight"; empty: not reported
    uint32_t type = 0;     // type of the tensor: id in Definitions; 0: unknown
    std::string category;  // the value of the --by key with this name, as the next fields
    std::string module;
    std::string operation;
    std::string phase;
    std::string step;
    std::string lifetime;
    Label made_at;
    Label saved_by;  // empty: not saved for a backward pass, or not recorded
    Label freed_by;
    std::vector<Location> create_stack;   // leaf first, without hidden frames
    std::vector<Location> save_stack;     // empty: as saved_by
    std::vector<Location> release_stack;  // empty: still live, or not recorded
};

struct TensorList {
    std::vector<TensorRow> rows;  // largest first, older ones first among equals
    uint64_t total_bytes = 0;     // of all live blocks, including left-out ones
    uint64_t shown_bytes = 0;     // of the rows and the hidden ones
    uint64_t hidden_count = 0;    // smaller than the requested size
    uint64_t hidden_bytes = 0;
};

// `result`: of a replay with Detail::kBlocks. Blocks below `min_bytes` are only counted.
TensorList build_tensors(const ReplayResult& result,
                         format::Measure measure,
                         uint64_t min_bytes,
                         StackLookup& stacks);

}  // namespace peakline::report
