// The lines where a simulated run read values that do not exist, and the consequences. Pure
// aggregation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/values/value_reads.h"

namespace peakline::report {

// The effect of a wrong value; the most harmful first.
enum class ValueEffect {
    kSize,     // tensors are made with it: their memory is wrong
    kNumber,   // the program may branch on it
    kCopy,     // it went to the host
    kPrinted,  // it was only shown
};

struct ValueReadRow {
    Label label;            // the innermost line outside libraries
    Location library;       // the library's line below it; line 0: there is none
    std::string operation;  // the innermost operator, "aten::nonzero"; empty: none ran
    ValueEffect effect = ValueEffect::kNumber;
    bool is_assumed = false;  // the user gave the value
    bool is_floating_point = false;
    uint64_t count = 0;
    uint64_t bytes = 0;
};

// Whether memory can depend on this value: then its row is worth a line.
bool may_change_memory(const ValueReadRow& row);
// Number of sizes that were read as 0: the peak may be too low.
uint64_t zero_size_count(const std::vector<ValueReadRow>& reads);

// Most harmful first, then most frequent.
std::vector<ValueReadRow> build_value_reads(const std::vector<ValueRead>& reads,
                                            const Definitions& definitions);

}  // namespace peakline::report
