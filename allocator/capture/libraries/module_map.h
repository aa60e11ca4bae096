// Which loaded library an address belongs to. Asked only for stacks never seen before: it walks
// the loader's list, which takes the loader's lock. Never called with a lock of ours held.
#pragma once

#include <cstdint>

#include "allocator/record/tables/stack_table.h"

namespace peakline::capture {

struct ModuleHit {
    uint32_t module;  // StackTable id, 0: no library (generated code)
    uint64_t load_bias;
};

// hits[i] is the module of addresses[i].
void find_modules_slow(record::StackTable& table,
                       void* const* addresses,
                       size_t count,
                       ModuleHit* hits);

}  // namespace peakline::capture
