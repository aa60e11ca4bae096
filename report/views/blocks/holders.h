// What keeps blocks alive, as searches in the running program found it; see Note [Holders] in
// allocator/record/format/definitions.h. Needs no events: holders name their blocks whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/attribute/grouping.h"

namespace peakline::report {

struct HolderRow {
    format::Holder block{};  // of one of its holders: what they say of the block is the same
    std::vector<const BlockHolder*> holders;  // the shortest path first; empty: not found
    uint64_t more_count = 0;                  // that are not written out
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

// The search of this number; 0: the last one. Throws TraceError when there is none, which says how
// to make one.
HolderList build_holders(const std::string& trace_name, uint32_t search, StackLookup& stacks);

// "step", of HoldReason; "global", of HolderKind. "unknown": of a newer version.
const char* reason_name(format::HoldReason reason);
const char* kind_name(format::HolderKind kind);

// What holds a block, for reports about other things; views/blocks/tensors.h uses it.
class HolderIndex {
public:
    explicit HolderIndex(const Definitions& definitions);
    // Of the allocation with this ordinal in a trace with all of its events: the best holder that
    // the last search of it has found; nullptr: none.
    const BlockHolder* find(uint64_t ordinal) const;

private:
    std::vector<const BlockHolder*> by_ordinal_;
};

}  // namespace peakline::report
