// Values that the user assumes for a simulated device: rules WHERE=VALUE, where WHERE is FILE:LINE
// or the name of an operator. preload/simulate/companion/README.md describes the syntax.
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
    // Returns false when the text is not a rule, or when there are too many.
    bool add(const char* rule);
    void remove(const char* rule);
    // Adds rules, one per line or separated by ';'. Returns the first that does not parse, or
    // nullptr. The result points into `texts`, which is modified.
    const char* add_all(char* texts);

    // Finds the rule for a read at this stack by these operators. A rule for a line wins over one
    // for an operator, an inner frame over its callers, a later rule over an earlier one. Returns
    // false if no rule matches. `has_matched` of `found` is false the first time a rule matches.
    bool find(record::StackTable& table,
              uint32_t python_node,
              const char* operators,
              Assumption* found);

private:
    static constexpr size_t kMaxRules = 64;
    record::LeafLock lock_;
    // Guarded by lock_, which is taken before the table's lock.
    Assumption rules_[kMaxRules];
    size_t count_ = 0;
};

}  // namespace peakline::preload
