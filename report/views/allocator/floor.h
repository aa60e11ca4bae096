// The least memory that any allocator needs for the blocks of a run.
#pragma once

#include <cstdint>

#include "report/trace/reader.h"

namespace peakline::report {

// The highest sum of live blocks of a device, each rounded up to the least block of torch: bytes
// that settings cannot save.
uint64_t floor_of_blocks(const TraceReader& reader, uint32_t device, const Progress& progress);

}  // namespace peakline::report
