// The holders of blocks that searches in the running program found; see Note [Holders] in
// allocator/record/format/definitions.h. Needs no events: each holder has all facts of its block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/attribute/grouping.h"

namespace peakline::report {

struct HolderRow {
    format::Holder block{};  // from one of its holders: all have the same facts of the block
    std::vector<const BlockHolder*> holders;  // the shortest path first; empty: not found
    uint64_t more_count = 0;                  // number of holders that are not listed
    Label made_at;
    std::string module;
    std::string name;  // "gradient of fc1.weight"; empty: no tensor with a name
};

struct HolderList {
    format::HolderSearch search = {};
    std::vector<HolderRow> rows;  // largest first, older ones first among equals
    uint64_t found_count = 0;     // rows with a holder
    uint64_t found_bytes = 0;
    uint64_t total_bytes = 0;
};

// Returns the search of this number; 0: the last one. Throws TraceError when there is none; the
// message explains how to make one.
HolderList build_holders(const std::string& trace_name, uint32_t search, StackLookup& stacks);

// Returns "step" for a HoldReason, "global" for a HolderKind; "unknown" for one of a newer version.
const char* reason_name(format::HoldReason reason);
const char* kind_name(format::HolderKind kind);

// The holder of a block, for other reports; views/blocks/tensors.h uses it.
class HolderIndex {
public:
    explicit HolderIndex(const Definitions& definitions);
    // The best holder that the last search found for the allocation with this ordinal, in a trace
    // with all of its events; nullptr: none.
    const BlockHolder* find(uint64_t ordinal) const;

private:
    std::vector<const BlockHolder*> by_ordinal_;
};

}  // namespace peakline::report
