// Finds the loaded library of an address. Only called for new stacks: it walks the loader's list,
// which takes the loader's lock. Never called with one of our locks held.
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
