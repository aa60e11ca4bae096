// What the user said about values of a simulated device: rules WHERE=VALUE, where WHERE is
// FILE:LINE or the name of an operator. The syntax is described in preload/simulate/companion/README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/tables/leaf_lock.h"
#include "allocator/record/tables/stack_table.h"

namespace peakline::preload {

struct Assumption {
    char where[512] = "";
    uint32_t line = 0;  // 0: `where` is an operator
    double value = 0;
    bool is_percentage = false;
    bool is_whole = false;  // written without a point: a count, not a fraction
    bool has_matched = false;
    char text[640] = "";
};

class Assumptions {
public:
    // False when the text is not a rule, or there is no more room.
    bool add(const char* rule);
    void remove(const char* rule);
    // Rules, one per line, or ';' between them. Returns the first that does not parse, or nullptr;
    // it lives in `texts`, which is changed.
    const char* add_all(char* texts);

    // The rule for a read at this stack by these operators: a line before an operator, the
    // innermost frame before its callers, the latest rule first. False: there is none. The first
    // time that a rule matches, `has_matched` of `found` is false.
    bool find(record::StackTable& table,
              uint32_t python_node,
              const char* operators,
              Assumption* found);

private:
    static constexpr size_t kMaxRules = 64;
    record::LeafLock lock_;
    // Guarded by lock_, which is taken before the table's.
    Assumption rules_[kMaxRules];
    size_t count_ = 0;
};

}  // namespace peakline::preload
