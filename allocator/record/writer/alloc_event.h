// One allocation as hooks report it to the recorder, and the recorder to the trace.
#pragma once

#include <cstdint>

namespace peakline::record {

struct AllocEvent {
    uint64_t address = 0;
    uint64_t requested_bytes = 0;
    uint64_t block_bytes = 0;
    uint32_t context = 0;
    uint32_t stream = 0;  // id of StackTable::intern_stream
    uint32_t device = 0;
    uint32_t unused = 0;  // no padding: events are compared by their bytes
};
static_assert(sizeof(AllocEvent) == 40);

}  // namespace peakline::record
